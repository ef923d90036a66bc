import type { ComponentChildren, JSX } from "preact";
import { Icon, type IconName } from "./Icon";

type Props = Omit<JSX.IntrinsicElements["button"], "icon"> & {
  icon?: IconName;
  label?: string;
  children?: ComponentChildren;
};

/* Without children only the icon is seen; `label` is its name, and what the pointer is told. */
export function Button({ icon, label, children, ...rest }: Props) {
  const only = children === undefined;
  return (
    <button
      type="button"
      class={only ? "icon-button" : "button"}
      aria-label={only ? label : undefined}
      title={label}
      {...rest}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}
