import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./Button";

/* A window over the page: Escape and the cross close it; the browser keeps the focus inside. */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: string;
  onClose?: () => void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    /* the browser has put the focus on the cross: a field is what one wants first */
    dialog
      ?.querySelector<HTMLElement>(
        ".dialog-body :is([data-first], input[type=text]:enabled, input:not([type]):enabled, select:enabled)",
      )
      ?.focus();
    return () => {
      dialog?.close();
      /*
       * the dialog has left the page by now, so the browser does not give the focus back; what closed it may have put
       * it elsewhere
       */
      if (document.activeElement === document.body && before instanceof HTMLElement && before.isConnected)
        before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide ? "dialog wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        onClose?.();
      }}
    >
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        {onClose !== undefined && <Button icon="close" label="Close" onClick={onClose} />}
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
