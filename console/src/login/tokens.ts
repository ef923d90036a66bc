/*
 * The tokens of a sign-on: in memory alone, the same in all tabs of this browser that have the page open. They tell
 * one another over a BroadcastChannel, which pages of this origin hear and nobody else. One tab asks for new ones,
 * before the old ones end; the others wait for it (Web Locks) and get what it got.
 */
export interface Tokens {
  bearer: string; /* what requests carry: the access token, or the ID token where groups are in that */
  refresh: string | null;
  id: string | null; /* for the log-out at the provider */
  from: number; /* Date.now() of when they came ... */
  until: number; /* ... and when the bearer ends */
}

export type Renewed = { kind: "new"; tokens: Tokens } | { kind: "over"; why: string } | { kind: "away"; why: string };
type Message = { kind: "ask" } | { kind: "tokens"; tokens: Tokens } | { kind: "none" } | { kind: "over"; why: string };

const CHANNEL = "almanac.signon";
const LOCK = "almanac.signon.refresh";
const EARLY_MS = 30_000; /* so long before the end new ones are asked for; of short lives a quarter */
const TAB = "almanac.signon.tab"; /* a shared lock that each tab has: so they are counted */
const ANSWER_MS = 3000; /* for all other tabs to say what they have */

/* Too near its end for another request? */
export const isStale = (t: Tokens, now: number): boolean => t.until - now < Math.min(EARLY_MS, (t.until - t.from) / 4);

export interface Keeper {
  get(): Tokens | null;
  set(tokens: Tokens | null, why?: string): void; /* and tell the other tabs; null: it is over */
  bearer(): Promise<string | null>; /* for a request; fails where there is none, and why is not known to be the end */
  renew(used: string): Promise<boolean>; /* the server refused this one; true: there is another by now */
  ask(): Promise<boolean>; /* other tabs; true: one had them */
  close(): void;
}

interface Around {
  channel: { postMessage(m: Message): void; onmessage: ((e: MessageEvent<Message>) => void) | null; close(): void };
  lock: <T>(work: () => Promise<T>) => Promise<T>;
  others: () => Promise<number>; /* tabs beside this one */
  renew: (old: Tokens) => Promise<Renewed>;
  onOver: (why: string) => void; /* here or in another tab */
  now: () => number;
}

export class AwayError extends Error {}

export function createKeeper({ channel, lock, others, renew, onOver, now }: Around): Keeper {
  let tokens: Tokens | null = null;
  let running: Promise<void> | null = null;
  const waiting = new Set<() => void>(); /* for answers of other tabs */
  const take = (next: Tokens | null) => {
    tokens = next;
  };
  channel.onmessage = ({ data }) => {
    if (data.kind === "ask") channel.postMessage(tokens === null ? { kind: "none" } : { kind: "tokens", tokens });
    if (data.kind === "tokens" && (tokens === null || data.tokens.from > tokens.from)) take(data.tokens);
    if (data.kind === "tokens" || data.kind === "none") for (const run of [...waiting]) run();
    if (data.kind === "over" && tokens !== null) {
      take(null);
      onOver(data.why);
    }
  };
  const set = (next: Tokens | null, why = "") => {
    take(next);
    channel.postMessage(next === null ? { kind: "over", why } : { kind: "tokens", tokens: next });
  };
  const end = (why: string) => {
    set(null, why);
    onOver(why);
  };
  /* What each of the other tabs has, until one has more than `enough` says. */
  const hear = async (enough: () => boolean): Promise<void> => {
    let left = await others();
    if (left <= 0) return;
    await new Promise<void>((done) => {
      const end = () => {
        clearTimeout(timer);
        waiting.delete(look);
        done();
      };
      const look = () => (--left <= 0 || enough()) && end();
      const timer = setTimeout(end, ANSWER_MS);
      waiting.add(look);
      channel.postMessage({ kind: "ask" });
    });
  };
  /*
   * A refresh token may count once, and who had the lock before may have used it: what the others have is heard
   * first.
   */
  const refresh = (old: Tokens): Promise<void> => {
    running ??= new Promise<void>((done, fail) => {
      lock(async () => {
        if (tokens === old) await hear(() => tokens !== old);
        if (tokens !== old) return done(); /* another tab was there first */
        const found = await renew(old);
        if (found.kind === "new") set(found.tokens);
        if (found.kind === "over") end(found.why);
        if (found.kind === "away") fail(new AwayError(found.why));
        else done();
      }).catch(fail);
    }).finally(() => (running = null));
    return running;
  };
  return {
    get: () => tokens,
    set,
    async bearer() {
      const now_ = tokens;
      if (now_ !== null && now_.refresh !== null && isStale(now_, now()))
        await refresh(now_).catch((e: unknown) => {
          if (tokens === null || tokens.until <= now()) throw e; /* it may do for a while */
        });
      return tokens?.bearer ?? null;
    },
    async renew(used) {
      const now_ = tokens;
      if (now_ === null) return false;
      if (now_.bearer === used && now_.refresh === null) return false;
      if (now_.bearer === used) await refresh(now_);
      return tokens !== null && tokens.bearer !== used;
    },
    async ask() {
      await hear(() => tokens !== null);
      return tokens !== null;
    },
    close: () => channel.close(),
  };
}

export const browserChannel = () => new BroadcastChannel(CHANNEL);
/* Pages without TLS on other hosts than this one have no locks, and no way to sign on either. */
export const browserLock = <T>(work: () => Promise<T>): Promise<T> =>
  navigator.locks === undefined ? work() : navigator.locks.request(LOCK, work);

let counted = false;
/* Tabs of this origin that have come as far as this one. */
export async function browserOthers(): Promise<number> {
  if (navigator.locks === undefined) return 0;
  const { held } = await navigator.locks.query();
  return (held ?? []).filter((l) => l.name === TAB).length - (counted ? 1 : 0);
}
export async function countThisTab(): Promise<void> {
  if (counted || navigator.locks === undefined) return;
  await new Promise<void>((had) => {
    void navigator.locks.request(TAB, { mode: "shared" }, () => {
      had();
      return new Promise(() => undefined); /* until the tab is closed */
    });
  });
  counted = true;
}
