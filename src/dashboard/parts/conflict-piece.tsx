import { Radio, Stack, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import classes from './conflict-piece.module.css';
import { FieldValue } from './field-value.tsx';
import { MarkedText } from './marked-text.tsx';
import { type Choice, isSettled, type Piece } from './resolutions.ts';

/** What the two sides are called. */
export interface Sides {
  current: string;
  incoming: string;
}

interface ConflictPieceProps {
  piece: Piece;
  sides: Sides;
  /** Sides that have the file: what was deleted on one can be deleted. */
  has: { current: boolean; incoming: boolean };
  choice: Choice | undefined;
  onChoose: (choice: Choice) => void;
}

const textOf = (piece: Piece, value: unknown) =>
  piece.isText ? ((value as string | null | undefined) ?? '') : JSON.stringify(value ?? null, null, 2);

function Value({ piece, value }: { piece: Piece; value: unknown }) {
  if (piece.kind === 'file') return null;
  if (piece.kind === 'field') return <FieldValue value={value ?? undefined} />;
  return (
    <pre className={classes.hunk} dir="auto">
      <MarkedText text={String(value ?? '')} />
    </pre>
  );
}

/** One field, one place of a text, or one file that both sides changed, and the ways to settle it. */
export function ConflictPiece({ piece, sides, has, choice, onChoose }: ConflictPieceProps) {
  const { t } = useTranslation('common');
  const label =
    piece.kind === 'field'
      ? piece.label
      : piece.kind === 'hunk'
        ? t('conflict_line', { line: piece.line })
        : t('conflict_file');
  const value = choice === undefined ? '' : 'take' in choice ? choice.take : 'text' in choice ? 'text' : 'delete';
  const options = [
    { take: 'current' as const, label: sides.current, value: piece.current, isThere: has.current },
    { take: 'incoming' as const, label: sides.incoming, value: piece.incoming, isThere: has.incoming },
    ...(piece.hasBase ? [{ take: 'base' as const, label: t('conflict_base'), value: piece.base, isThere: true }] : []),
  ];
  const choose = (chosen: string) => {
    if (chosen === 'text') onChoose({ text: textOf(piece, piece.incoming ?? piece.current) });
    else if (chosen === 'delete') onChoose({ delete: true });
    else onChoose({ take: chosen as 'base' });
  };
  return (
    <Radio.Group
      label={
        <span title={piece.kind === 'field' ? piece.id : undefined}>
          <MarkedText text={label} />
        </span>
      }
      value={value}
      onChange={choose}
      className={classes.piece}
    >
      <Stack gap="xs" mt="xs">
        {options.map(({ take, label, value, isThere }) =>
          isThere ? (
            <div key={take} className={classes.option}>
              <Radio value={take} label={label} />
              <div className={classes.value}>
                <Value piece={piece} value={value} />
              </div>
            </div>
          ) : null,
        )}
        {piece.kind === 'file' && (
          <div className={classes.option}>
            <Radio value="delete" label={t('conflict_delete')} />
          </div>
        )}
        {piece.kind !== 'file' && (
          <div className={classes.option}>
            <Radio value="text" label={t('conflict_by_hand')} />
            {choice && 'text' in choice && (
              <Textarea
                aria-label={t('conflict_by_hand_for', { field: label })}
                className={classes.value}
                autosize
                minRows={1}
                maxRows={16}
                value={choice.text}
                onChange={(event) => onChoose({ text: event.currentTarget.value })}
                error={!isSettled(piece, choice) && t('conflict_not_json')}
              />
            )}
          </div>
        )}
      </Stack>
    </Radio.Group>
  );
}
