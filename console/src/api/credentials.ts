/*
 * What the header of a request says of who asks. The layer above, login/signon.ts, knows it and enters it here when
 * its module is loaded, which is before the page asks the server for anything.
 */
export interface Credentials {
  /* The header of a request, and the token in it; waits until it is known whether there is a sign-on. */
  authorization(): Promise<{ headers: Record<string, string>; used: string | null }>;
  /* The server answered 401 to this token. True: there is another one by now, so the request is sent once more. */
  refused(used: string | null): Promise<boolean>;
  /* The body of a 403: it may deny the whole server to this user. */
  lookAtDenial(body: string): void;
  /* Calls `make` if the cookie of downloads is to be made anew. */
  cookieForDownload(make: () => Promise<void>): Promise<void>;
  /* The sentence for an error of `authorization`; null: it has none of its own. */
  reportAway(e: unknown): string | null;
}

/* Nobody is signed on, and the page asks for a login. */
export class NobodyError extends Error {}

let entered: Credentials | null = null;

export function enterCredentials(credentials: Credentials): void {
  entered = credentials;
}

export function credentials(): Credentials {
  if (entered === null) throw new Error("No credentials were entered: login/signon.ts is not loaded.");
  return entered;
}
