const counted = /\{(\d+)(?:,(\d*))?\}/y;
/** A character class, escapes in it included. */
const characterClass = /\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]?/y;

/** Where a piece of a pattern ends, by one of the two above; null where it is none. */
function pieceAt(piece: RegExp, pattern: string, at: number): RegExpExecArray | null {
  piece.lastIndex = at;
  return piece.exec(pattern);
}

/** About how many instructions a pattern has once its counted repetitions are written out: some characters can have a million. */
export function patternSize(pattern: string): number {
  const outer: number[] = [];
  let sum = 0;
  let last = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at];
    const repeat = character === '{' ? pieceAt(counted, pattern, at) : null;
    if (repeat) {
      const times = Math.max(1, Number(repeat[1]), Number(repeat[2] ?? 0));
      sum += last * (times - 1);
      last *= times;
      at += repeat[0].length - 1;
    } else if (character === '(') {
      outer.push(sum);
      sum = 0;
      last = 0;
    } else if (character === ')') {
      last = sum;
      sum += outer.pop() ?? 0;
    } else {
      if (character === '\\') at += 1;
      else if (character === '[') at += (pieceAt(characterClass, pattern, at)?.[0].length ?? 1) - 1;
      last = 1;
      sum += 1;
    }
  }
  return outer.reduce((whole, part) => whole + part, sum);
}
