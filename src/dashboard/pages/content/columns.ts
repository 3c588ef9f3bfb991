/**
 * Columns of a collection's table: `@status`, `@updated`, `@language`, and names of the entries' own fields. Which ones is the choice of each
 * person, and is kept in the account, so that it is the same in all browsers.
 */
import { useCallback, useMemo, useState } from 'react';
import { Viewer } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import type { Place } from '../../lib/place.ts';
import { useSavePreferences } from '../../lib/preferences.ts';
import { useViewer } from '../../lib/viewer.tsx';

const builtIns = ['@status', '@updated', '@language'] as const;
export type BuiltIn = (typeof builtIns)[number];
export const isBuiltIn = (name: string): name is BuiltIn => (builtIns as readonly string[]).includes(name);

/** Collections whose choice is kept, the last chosen first; an account takes 16 KiB of settings. */
const mostKept = 40;
const mostColumns = 12;

type Kept = [collection: string, columns: string[]][];

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function keptIn(editor: unknown): Kept {
  const kept = isRecord(editor) ? editor.columns : null;
  return Array.isArray(kept) ? kept.filter((one) => Array.isArray(one) && Array.isArray(one[1])) : [];
}

const keyOf = ({ organization, project }: Place, collection: string) => `${organization}/${project}/${collection}`;

const columnsIn = (editor: unknown, key: string): readonly string[] =>
  keptIn(editor).find(([name]) => name === key)?.[1] ?? builtIns;

/** What is known of a person's choice before the page is there; otherwise the table as it is for all. */
export const knownColumns = (place: Place, collection: string): readonly string[] =>
  columnsIn(
    client.readQuery(Viewer, {}, { requestPolicy: 'cache-only' })?.data?.me?.preferences?.editor,
    keyOf(place, collection),
  );

interface Columns {
  columns: readonly string[];
  choose: (columns: readonly string[]) => void;
}

export function useColumns(place: Place, collection: string): Columns {
  const editor = useViewer().me?.preferences?.editor;
  const save = useSavePreferences();
  const key = keyOf(place, collection);
  // Shown at once, before the account has it.
  const [chosen, setChosen] = useState<readonly string[] | null>(null);
  const columns = useMemo(() => chosen ?? columnsIn(editor, key), [chosen, editor, key]);
  const choose = useCallback(
    (next: readonly string[]) => {
      setChosen(next);
      const others = keptIn(editor).filter(([name]) => name !== key);
      const kept = [[key, next.slice(0, mostColumns)], ...others].slice(0, mostKept);
      void save({ editor: { ...(isRecord(editor) && editor), columns: kept } });
    },
    [editor, key, save],
  );
  return { columns, choose };
}
