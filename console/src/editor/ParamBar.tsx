/* A field for each parameter of the statements of the tab: $1 and @name. Empty is null. */
import { useMemo } from "preact/hooks";
import { parametersOf } from "../sql/params";
import { statements } from "../sql/lexer";
import { useStore } from "../state/store";
import { activeTab, setParam, tabs } from "./tabs";

const TEXT_MAX = 200_000; /* longer texts are not searched while they are typed */

export function ParamBar() {
  const tab = useStore(tabs, activeTab);
  const text = tab?.text ?? "";
  const names = useMemo(
    () =>
      text.length > TEXT_MAX || !/[@$]/.test(text)
        ? []
        : [...new Set(statements(text).flatMap((s) => parametersOf(s.text)))],
    [text],
  );
  if (tab === undefined || names.length === 0) return null;
  return (
    <div class="param-bar" role="group" aria-label="Parameters">
      {names.map((name) => (
        <label key={name}>
          <code>{name}</code>
          <input
            value={tab.params[name] ?? ""}
            placeholder="null"
            onInput={(e) => setParam(tab.id, name, e.currentTarget.value)}
          />
        </label>
      ))}
    </div>
  );
}
