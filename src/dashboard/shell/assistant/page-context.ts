/** What is open in the dashboard beside the assistant, and selected there. */
import { useLocation, useParams } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { usePlace } from '../../lib/place.ts';

export interface PageContext {
  /** Absent: the published version. */
  branch?: string;
  collection?: string;
  /** Slug. */
  entry?: string;
  /** Of a file. */
  path?: string;
  /** Of a deployment. */
  deployment?: string;
  /** The part of the dashboard. */
  page?: string;
  selection?: string;
}

/** Characters of a selection that go along. */
const longestSelection = 20_000;

/** Text that is selected on the page; it stays when the person goes on to write to the assistant. */
function useSelection(): [string | undefined, () => void] {
  const [selection, setSelection] = useState<string | undefined>();
  useEffect(() => {
    const onChange = () => {
      const found = document.getSelection();
      const page = document.getElementById('page');
      if (!found || !page?.contains(found.anchorNode)) return;
      const text = found.toString().trim().slice(0, longestSelection);
      setSelection(text === '' ? undefined : text);
    };
    document.addEventListener('selectionchange', onChange);
    return () => document.removeEventListener('selectionchange', onChange);
  }, []);
  return [selection, () => setSelection(undefined)];
}

/** @returns what is open, and what forgets the selection */
export function usePageContext(): [PageContext, () => void] {
  const { draft } = usePlace();
  const { collection, _splat: rest, deployment } = useParams({ strict: false });
  const page = useLocation({ select: ({ pathname }) => pathname.split('/')[4] });
  const [selection, drop] = useSelection();
  const open = {
    branch: draft,
    collection,
    entry: page === 'content' && rest ? rest : undefined,
    path: page === 'files' && rest ? rest : undefined,
    deployment,
    page,
    selection,
  };
  return [Object.fromEntries(Object.entries(open).filter(([, value]) => value !== undefined && value !== '')), drop];
}
