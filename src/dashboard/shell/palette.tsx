/** Begun when it is first wanted. */
export function Palette(_: { opened: number }) {
  return null;
}
