import type { FileConflictFragment, ResolutionInput } from '../documents.ts';

/** How one piece of a conflict is settled: by a side, by a value written by hand, or by deleting the file. */
export type Choice = { take: 'base' | 'current' | 'incoming' } | { text: string } | { delete: true };

/** Choices by the key of their piece. */
export type Choices = Readonly<Record<string, Choice>>;

export interface Piece {
  key: string;
  kind: 'field' | 'hunk' | 'file';
  /** JSON Pointer of a field, id of a hunk; empty for a whole file. */
  id: string;
  /** Of a field. */
  label: string;
  /** Line of a hunk in the body, from 1. */
  line: number;
  base: unknown;
  current: unknown;
  incoming: unknown;
  /** There is a common ancestor to go back to. */
  hasBase: boolean;
  /** It holds text, which is edited as it is; other values as JSON. */
  isText: boolean;
}

const isTextOrNone = (value: unknown) => value === null || value === undefined || typeof value === 'string';

/** What has to be settled in a file. A key names the stages too: what was chosen for another state of the file is not used. */
export function piecesOf(conflict: FileConflictFragment): Piece[] {
  const { path, stages, fields, hunks } = conflict;
  const hasBase = stages.base !== null;
  const key = (kind: string, id: string) =>
    JSON.stringify([path, stages.base, stages.current, stages.incoming, kind, id]);
  if (conflict.reason !== null || fields.length + hunks.length === 0) {
    const whole = { kind: 'file' as const, id: '', label: '', line: 0, hasBase, isText: false };
    return [{ key: key('file', ''), ...whole, base: null, current: null, incoming: null }];
  }
  return [
    ...fields.map(({ field, label, base, current, incoming }) => ({
      key: key('field', field),
      ...{ kind: 'field' as const, id: field, label, line: 0, base, current, incoming, hasBase },
      isText: [base, current, incoming].every(isTextOrNone),
    })),
    ...hunks.map(({ id, base, current, incoming, line }) => ({
      key: key('hunk', id),
      ...{ kind: 'hunk' as const, id, label: '', line, base, current, incoming, hasBase, isText: true },
    })),
  ];
}

/** The value written by hand. @throws SyntaxError when it is to be JSON and is not */
const written = (piece: Piece, text: string): unknown => (piece.isText ? text : JSON.parse(text));

/** Whether a choice can be sent. */
export function isSettled(piece: Piece, choice: Choice | undefined): boolean {
  if (choice === undefined) return false;
  if (!('text' in choice)) return true;
  try {
    written(piece, choice.text);
    return true;
  } catch {
    return false;
  }
}

/** Choices as the API takes them; all pieces are settled. */
export function resolutionsOf(conflicts: readonly FileConflictFragment[], choices: Choices): ResolutionInput[] {
  return conflicts.map((conflict) => {
    const { path, stages } = conflict;
    const at = { path, stages: { base: stages.base, current: stages.current, incoming: stages.incoming } };
    const pieces = piecesOf(conflict).map((piece) => ({ piece, choice: choices[piece.key] as Choice }));
    const [first] = pieces;
    if (first?.piece.kind === 'file')
      return 'take' in first.choice ? { ...at, take: first.choice.take } : { ...at, delete: true };
    const of = (kind: Piece['kind']) =>
      Object.fromEntries(
        pieces
          .filter(({ piece }) => piece.kind === kind)
          .map(({ piece, choice }) => [piece.id, 'text' in choice ? { value: written(piece, choice.text) } : choice]),
      );
    const [fields, hunks] = [of('field'), of('hunk')];
    return {
      ...at,
      ...(Object.keys(fields).length > 0 && { fields }),
      ...(Object.keys(hunks).length > 0 && { hunks }),
    };
  });
}
