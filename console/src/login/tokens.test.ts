/*
 * Goal: one tab renews for all, at the right time; an end is an end everywhere, and a provider that is away is none.
 * Method: keepers that share a channel and a lock made here.
 */
import { afterEach, expect, test } from "vitest";
import { AwayError, createKeeper, isStale, type Keeper, type Renewed, type Tokens } from "./tokens";

const at = (from: number, life: number, bearer = `b${from}`): Tokens => ({
  bearer,
  refresh: `r${from}`,
  id: null,
  from,
  until: from + life,
});

test("long lives end 30 s early, short ones a quarter", () => {
  expect([isStale(at(0, 300_000), 269_999), isStale(at(0, 300_000), 270_001)]).toEqual([false, true]);
  expect([isStale(at(0, 2000), 1499), isStale(at(0, 2000), 1501)]).toEqual([false, true]);
});

type Channel = { postMessage(m: unknown): void; onmessage: ((e: MessageEvent) => void) | null; close(): void };
let open: Keeper[] = [];
let channels: Channel[] = [];
let queue: Promise<unknown> = Promise.resolve();
let time = 0;
let delay = 0; /* of messages */
let calls: string[] = [];
let answer: (old: Tokens) => Renewed = () => ({ kind: "away", why: "" });

function tab(overs: string[] = []): Keeper {
  const mine = channels; /* of this test */
  const channel: Channel = {
    onmessage: null,
    postMessage: (data) => {
      for (const other of mine)
        if (other !== channel) setTimeout(() => other.onmessage?.({ data } as MessageEvent), delay);
    },
    close: () => undefined,
  };
  channels.push(channel);
  const lock = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = queue.then(work);
    queue = mine.catch(() => undefined);
    return mine;
  };
  const renew = async (old: Tokens) => {
    calls.push(old.refresh ?? "");
    await new Promise((r) => setTimeout(r, 5));
    return answer(old);
  };
  const keeper = createKeeper({
    channel: channel,
    lock,
    others: async () => mine.length - 1,
    renew,
    onOver: (why) => overs.push(why),
    now: () => time,
  });
  open.push(keeper);
  return keeper;
}
afterEach(() => {
  open.forEach((k) => k.close());
  open = [];
  channels = [];
  queue = Promise.resolve();
  time = delay = 0;
  calls = [];
});
const heard = () => new Promise((r) => setTimeout(r, delay + 5));

test("many requests of two tabs: one call, and both have what came", async () => {
  const [a, b] = [tab(), tab()];
  a.set(at(0, 2000));
  await heard();
  expect(b.get()?.bearer).toBe("b0");
  expect(await Promise.all([a.bearer(), b.bearer()])).toEqual(["b0", "b0"]);
  time = 1600;
  answer = (old) => ({ kind: "new", tokens: { ...at(1600, 2000), refresh: `${old.refresh}+` } });
  expect(await Promise.all([a.bearer(), b.bearer(), a.bearer(), b.bearer()])).toEqual(Array(4).fill("b1600"));
  expect(calls).toEqual(["r0"]);
  expect(b.get()?.refresh).toBe("r0+");
});

test("messages that are slower than the lock: the refresh token is used once all the same", async () => {
  const [a, b, c] = [tab(), tab(), tab()];
  a.set(at(0, 2000));
  await heard();
  delay = 80;
  time = 1600;
  answer = () => ({ kind: "new", tokens: at(1600, 2000) });
  expect(await Promise.all([a.bearer(), b.bearer(), c.bearer()])).toEqual(["b1600", "b1600", "b1600"]);
  expect(calls).toEqual(["r0"]);
});

test("a tab that opens later gets them from another, or nothing", async () => {
  const a = tab();
  expect(await tab().ask()).toBe(false);
  a.set(at(0, 2000));
  const late = tab();
  expect(await late.ask()).toBe(true);
  expect(late.get()?.bearer).toBe("b0");
});

test("an end is told in all tabs, once; then there is no header", async () => {
  const told: string[] = [];
  const [a, b] = [tab(told), tab(told)];
  a.set(at(0, 2000));
  await heard();
  time = 3000;
  answer = () => ({ kind: "over", why: "refused" });
  expect(await b.bearer()).toBe(null);
  await heard();
  expect([a.get(), told]).toEqual([null, ["refused", "refused"]]);
  expect(await a.bearer()).toBe(null);
  expect(calls.length).toBe(1);
});

test("a provider that is away: what is still good is used, then the request fails; nobody is logged out", async () => {
  const a = tab();
  a.set(at(0, 2000));
  time = 1900;
  answer = () => ({ kind: "away", why: "no answer" });
  expect(await a.bearer()).toBe("b0");
  time = 2100;
  await expect(a.bearer()).rejects.toThrow(AwayError);
  expect(a.get()?.bearer).toBe("b0");
  answer = () => ({ kind: "new", tokens: at(2100, 2000) });
  expect(await a.bearer()).toBe("b2100");
});

test("refused by the server: one renewal for all who were, none for one that is new already", async () => {
  const [a, b] = [tab(), tab()];
  a.set(at(0, 300_000));
  await heard();
  answer = () => ({ kind: "new", tokens: at(10, 300_000) });
  expect(await Promise.all([a.renew("b0"), b.renew("b0"), a.renew("b0")])).toEqual([true, true, true]);
  expect(await a.renew("b0")).toBe(true);
  expect(calls.length).toBe(1);
  a.set({ ...at(20, 300_000), refresh: null });
  expect(await a.renew("b20")).toBe(false);
  expect(calls.length).toBe(1);
});
