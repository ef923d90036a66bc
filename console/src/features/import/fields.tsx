/* Fields that both dialogs have. */
import { useEffect, useState } from "preact/hooks";
import { catalog, columnsOf } from "../../api/catalog";
import { rows } from "../../api/client";
import { instance } from "../../app/Instance";
import { isExternal } from "../../login/signon";
import { useStore } from "../../state/store";

export const PARTITIONS = ["NONE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"];

interface DraftProps {
  value: string;
  label: string;
  title?: string | undefined;
  placeholder?: string;
  list?: string;
  onChange: (text: string) => void;
}
/* A text that counts when it is finished. What is typed stays until then, and until `value` follows, however often the page is drawn meanwhile. */
export function Draft({ value, label, title, placeholder, list, onChange }: DraftProps) {
  const [draft, setDraft] = useState<string | null>(null);
  useEffect(() => setDraft(null), [value]);
  return (
    <input
      type="text"
      title={title}
      placeholder={placeholder}
      list={list}
      class="type-field"
      value={draft ?? value}
      aria-label={label}
      spellcheck={false}
      onInput={(e) => setDraft(e.currentTarget.value)}
      onKeyDown={(e) => {
        if (e.key !== "Enter") return;
        e.preventDefault(); /* it ends the field, and not the dialog */
        e.currentTarget.dispatchEvent(new Event("change", { bubbles: true }));
      }}
      onChange={(e) => {
        const text = e.currentTarget.value.trim();
        if (text === "" || text === value) setDraft(null);
        if (text !== value) onChange(text);
      }}
    />
  );
}

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

export function Choice({
  label,
  value,
  options,
  onChange,
  disabled = false,
}: {
  label: string;
  value: string;
  options: Array<[value: string, title: string]>;
  onChange: (v: string) => void;
  disabled?: boolean;
}) {
  return (
    <label>
      {label}
      <select value={value} disabled={disabled} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map(([v, title]) => (
          <option key={v} value={v}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/* Who can own a new table, where there is access control: the user, or a group of theirs. Users of the identity provider own nothing themselves. */
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

export function Check({ label, value, onChange }: { label: string; value: boolean; onChange: (v: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(e) => onChange(e.currentTarget.checked)} /> {label}
    </label>
  );
}

/* What can be the designated timestamp: a DATE becomes a TIMESTAMP when it is. */
export const isTime = (type: string): boolean => /^(TIMESTAMP|DATE)/i.test(type);
export const isTimestamp = (type: string): boolean => /^TIMESTAMP(_NS)?$/i.test(type);
