/* A component whose code comes when it is first seen, so that the page is there before it. */
import { type ComponentType, type FunctionComponent, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "./Button";

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): FunctionComponent<P> {
  let known: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [found, setFound] = useState<{ component: ComponentType<P> | null; problem: boolean }>({
      component: known,
      problem: false,
    });
    const start = () => {
      setFound({ component: null, problem: false });
      load().then(
        (component) => {
          known = component;
          setFound({ component, problem: false });
        },
        () => setFound({ component: null, problem: true }),
      );
    };
    useEffect(() => {
      if (known === null) start();
    }, []);
    if (found.component !== null) return h(found.component, props);
    if (!found.problem) return <p class="side-note">Loading …</p>;
    return (
      <p class="side-note" role="alert">
        This part could not be loaded. <Button onClick={start}>Try again</Button>
      </p>
    );
  };
}
