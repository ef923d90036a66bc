/* A time as the server writes it: seconds since 1970, to the microsecond. */
export function seconds(text: string): number {
  const at = text.indexOf(".");
  const whole = Date.parse(at < 0 ? text : text.slice(0, at) + "Z");
  return whole / 1000 + (at < 0 ? 0 : Number(`0${text.slice(at, -1)}`));
}
