/* Fields that both dialogs of the import have. */
import { useEffect, useState } from "preact/hooks";
import { catalog, columnsOf } from "../../api/catalog";
import { rows } from "../../api/client";
import { instance } from "../../api/instance";
import { isExternal } from "../../login/signon";
import { useStore } from "../../state/store";
import { Choice, Draft } from "../../ui/fields";

export const PARTITIONS = ["NONE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"];

/* Any type of the server can be typed; those that it names are offered. */
export const TypeField = ({
  value,
  label,
  onChange,
}: {
  value: string;
  label: string;
  onChange: (type: string) => void;
}) => <Draft value={value} label={label} list="column-types" onChange={(t) => onChange(t.toUpperCase())} />;

export function TypeList() {
  const types = useStore(catalog, (c) => c.types);
  return (
    <datalist id="column-types">
      {types.map((t) => (
        <option key={t} value={t} />
      ))}
    </datalist>
  );
}

/* The columns that a file for this table can name. */
export function NameList({ table }: { table: string }) {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    let live = true;
    setNames([]);
    if (table !== "") void columnsOf(table).then((list) => live && setNames(list.map((c) => c.name)));
    return () => {
      live = false;
    };
  }, [table]);
  return (
    <datalist id="column-names">
      {names.map((n) => (
        <option key={n} value={n} />
      ))}
    </datalist>
  );
}

/*
 * Who can own a new table, where there is access control: the user, or a group of theirs. Users of the identity
 * provider own nothing themselves.
 */
export function OwnerField({ value, onChange }: { value: string; onChange: (owner: string) => void }) {
  const [groups, setGroups] = useState<string[] | null>(null);
  const external = isExternal();
  useEffect(() => {
    if (instance.get().config["acl.enabled"] !== true) return;
    const sql = external
      ? "SELECT DISTINCT group_name AS name FROM my_external_groups() WHERE group_name IS NOT NULL"
      : "SHOW GROUPS";
    rows<{ name: string }>(sql).then(
      (list) => {
        const names = list.map((g) => g.name).sort();
        setGroups(names);
        if (external && value === "" && names[0] !== undefined) onChange(names[0]);
      },
      () => setGroups(null),
    );
  }, []);
  if (groups === null || groups.length === 0) return null;
  return (
    <Choice
      label="Owner"
      value={value}
      options={[
        ...(external ? [] : [["", "you"] as [string, string]]),
        ...groups.map((g) => [g, g] as [string, string]),
      ]}
      onChange={onChange}
    />
  );
}

/* What can be the designated timestamp: a DATE becomes a TIMESTAMP when it is. */
export const isTime = (type: string): boolean => /^(TIMESTAMP|DATE)/i.test(type);
export const isTimestamp = (type: string): boolean => /^TIMESTAMP(_NS)?$/i.test(type);
