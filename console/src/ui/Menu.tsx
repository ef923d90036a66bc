/* A list of things to do, below its button or at the pointer. Arrow keys move, Escape closes. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "./Button";
import type { IconName } from "./Icon";

export interface MenuItem {
  title: string;
  run: () => void;
  hint?: string; /* keys, or what is behind it */
  disabled?: boolean;
  danger?: boolean;
}

export interface MenuAt {
  x: number;
  y: number;
}

export function Menu({
  items,
  at,
  label,
  onClose,
}: {
  items: MenuItem[];
  at: MenuAt;
  label: string;
  onClose: () => void;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState(at);
  useLayoutEffect(() => {
    const box = ref.current?.getBoundingClientRect();
    if (box !== undefined)
      setPlace({
        x: Math.max(4, Math.min(at.x, innerWidth - box.width - 4)),
        y: Math.max(4, Math.min(at.y, innerHeight - box.height - 4)),
      });
    ref.current?.querySelector<HTMLElement>("[role=menuitem]:not(:disabled)")?.focus();
  }, [at.x, at.y]);
  useEffect(() => {
    const away = (e: Event) => {
      if (!(e.target instanceof Node && ref.current?.contains(e.target) === true)) onClose();
    };
    window.addEventListener("pointerdown", away, true);
    window.addEventListener("blur", onClose);
    return () => {
      window.removeEventListener("pointerdown", away, true);
      window.removeEventListener("blur", onClose);
    };
  }, []);
  const onKey = (e: KeyboardEvent) => {
    const all = [...(ref.current?.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)") ?? [])];
    const now = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: now + 1, ArrowUp: now - 1 + all.length, Home: 0, End: all.length - 1 }[e.key];
    if (next !== undefined) all[next % all.length]?.focus();
    else if (e.key === "Escape" || e.key === "Tab") onClose();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div
      ref={ref}
      class="menu"
      role="menu"
      aria-label={label}
      style={{ left: `${place.x}px`, top: `${place.y}px` }}
      onKeyDown={onKey}
    >
      {items.map((item) => (
        <button
          key={item.title}
          type="button"
          role="menuitem"
          tabIndex={-1}
          class={item.danger === true ? "danger" : ""}
          disabled={item.disabled}
          onClick={() => {
            onClose();
            item.run();
          }}
        >
          <span>{item.title}</span>
          {item.hint !== undefined && <kbd>{item.hint}</kbd>}
        </button>
      ))}
    </div>
  );
}

export function MenuButton({
  icon,
  label,
  items,
  children,
  disabled,
}: {
  icon?: IconName;
  label: string;
  items: () => MenuItem[];
  children?: ComponentChildren;
  disabled?: boolean;
}) {
  const [at, setAt] = useState<MenuAt | null>(null);
  const ref = useRef<HTMLSpanElement>(null);
  const close = () => {
    setAt(null);
    ref.current?.querySelector("button")?.focus();
  };
  const open = () => {
    const box = ref.current?.getBoundingClientRect();
    if (box !== undefined) setAt({ x: box.left, y: box.bottom + 2 });
  };
  return (
    <span ref={ref} class="menu-button">
      <Button
        {...(icon === undefined ? {} : { icon })}
        label={label}
        aria-haspopup="menu"
        aria-expanded={at !== null}
        disabled={disabled ?? false}
        onClick={open}
      >
        {children}
      </Button>
      {at !== null && <Menu items={items()} at={at} label={label} onClose={close} />}
    </span>
  );
}
