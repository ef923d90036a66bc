/*
 * Pages of one browser tell one another who is here: they share a cookie, so that a log-out or another user in one is
 * one in all.
 */
import { owner, type OwnerKey, quit } from "../state/owner";

const CHANNEL = "almanac.user";
type Message = { kind: "leaving" | "now"; key: OwnerKey };

let channel: BroadcastChannel | null = null;

/* A log-out begins: what runs in other pages ends while the server still takes it. */
export function announceLeaving(): void {
  channel?.postMessage({ kind: "leaving", key: owner.get().key } satisfies Message);
}

/* ask: who is here, says the server. over: this user has logged out elsewhere. */
export function followOthers(ask: () => void, over: () => void): void {
  channel = new BroadcastChannel(CHANNEL);
  let said = owner.get().key;
  owner.subscribe(({ key }) => {
    if (key !== said) channel?.postMessage({ kind: "now", key } satisfies Message);
    said = key;
  });
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    const { key } = owner.get();
    if (data.kind === "leaving") return void (data.key === key && key !== null && quit());
    if (data.key === key) return;
    /* the sign-on of a provider is no cookie: tokens.ts tells of its end */
    if (data.key !== null) ask();
    else if (key !== null && key.startsWith("user:")) over();
  };
  /* a page that the browser had put aside has heard nothing */
  window.addEventListener("pageshow", (e) => e.persisted && ask());
}
