import classes from './marked-text.module.css';

/**
 * Characters that cannot be seen or change the order of others (Unicode Standard Annex #9, section 2), but for tab, line feed, and the joiner
 * between the parts of one pictograph.
 */
const unseen = /((?![\t\n]|(?<=\p{Extended_Pictographic}\ufe0f?)\u200d)[\p{Cc}\p{Cf}\u2028\u2029])/u;

const codeOf = (character: string) =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Text of others, isolated from what is around it; characters that could deceive stand as marks. */
export function MarkedText({ text }: { text: string }) {
  const pieces = text.split(unseen);
  return (
    <bdi>
      {pieces.length === 1
        ? text
        : pieces.map((piece, at) =>
            at % 2 === 0 ? (
              piece
            ) : (
              <span key={at} className={classes.mark}>
                {codeOf(piece)}
              </span>
            ),
          )}
    </bdi>
  );
}
