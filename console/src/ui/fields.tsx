/* Fields of forms. */
import { useEffect, useState } from "preact/hooks";

interface DraftProps {
  value: string;
  label: string;
  title?: string | undefined;
  placeholder?: string;
  list?: string;
  onChange: (text: string) => void;
}
/*
 * A text that counts when it is finished. What is typed stays until then, and until `value` follows, however often
 * the page is drawn meanwhile.
 */
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

export function Check({ label, value, onChange }: { label: string; value: boolean; onChange: (v: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(e) => onChange(e.currentTarget.checked)} /> {label}
    </label>
  );
}
