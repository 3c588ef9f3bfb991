/** The editor of an entry or a file in a page: opened once its stored version is known, kept in step with what others save, and left in good order. */
import { useWindowEvent } from '@mantine/hooks';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import type { DraftKey } from '../../lib/local-drafts.ts';
import { openEditLock } from './edit-lock.ts';
import type { Editor } from './editor.ts';
import { type OpenedEditor, openEditor, type StoredVersion, takeIn } from './open-editor.ts';
import type { Content } from './rebase.ts';

const sameKey = (one: DraftKey, other: DraftKey) =>
  one.user === other.user && one.project === other.project && one.branch === other.branch && one.entry === other.entry;

/** What became of a version that somebody else saved meanwhile. */
export type News = 'none' | 'merged' | 'behind';

interface Opening {
  /** null while it is not known what is edited. */
  key: DraftKey | null;
  /** What is stored, by identity: another value is another answer of the server. */
  stored: object | null;
  /** The version that is. */
  read: () => StoredVersion | null | Promise<StoredVersion | null>;
  /** Of what is not made yet: its name, and what it begins with. */
  slug?: string | null;
  begin?: Content;
}

/** Opens what a key names; another answer for the same key is taken into the editor that is open. */
export function useOpenedEditor({ key, stored, read, slug = null, begin }: Opening): {
  opened: OpenedEditor | null;
  news: News;
  setNews: (news: News) => void;
} {
  const [opened, setOpened] = useState<OpenedEditor | null>(null);
  const [news, setNews] = useState<News>('none');
  const current = useRef<OpenedEditor | null>(null);
  const open = useEffectEvent(async (isOver: () => boolean) => {
    if (key === null) return;
    const version = await read();
    if (isOver()) return;
    const known = current.current;
    if (known && sameKey(known.editor.key, key)) {
      known.editor.movedFrom = null;
      if (version && !known.editor.state().isSaving) {
        const found = await takeIn(known.editor, version);
        if (found !== 'none' && !isOver()) setNews(found);
      }
      return;
    }
    // What is gone from here is edited where the page is on its way to.
    if (known?.editor.movedFrom && sameKey(known.editor.movedFrom, key)) return;
    const next = await openEditor(key, version, slug, begin);
    if (isOver()) return;
    current.current = next;
    setNews('none');
    setOpened(next);
  });
  const name = key && JSON.stringify(key);
  useEffect(() => {
    if (name === null) return;
    let isOver = false;
    void open(() => isOver);
    return () => {
      isOver = true;
    };
  }, [name, stored]);
  // A page that is left while typing writes the last letters down.
  useEffect(() => () => void current.current?.editor.keep(), []);
  return { opened, news, setNews };
}

/** Ctrl+S saves, and what was typed is written down whenever the page may end. */
export function useEditorKeys(editor: Editor, save: () => void): void {
  useWindowEvent('keydown', (event) => {
    if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    if (!event.isComposing && !event.repeat) save();
  });
  useWindowEvent('pagehide', () => editor.leave());
  useWindowEvent('visibilitychange', () => void (document.hidden && editor.keep()));
  useWindowEvent('beforeunload', (event) => {
    if (editor.state().keeping === 'refused' && editor.isChanged()) event.preventDefault();
  });
}

/** One tab at a time edits. @returns what takes the editing over */
export function useEditLock({ editor }: OpenedEditor): () => void {
  const take = useRef(() => {});
  useEffect(() => {
    const { user, project, branch, entry } = editor.key;
    const lock = openEditLock(
      `portico:${[user, project, branch, entry].join(':')}`,
      async (isHeld) => {
        if (isHeld && editor.state().isLocked) await editor.reread();
        editor.update({ isLocked: !isHeld });
      },
      () => editor.keep(),
    );
    take.current = lock.take;
    return lock.release;
  }, [editor]);
  return () => take.current();
}
