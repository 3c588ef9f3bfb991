/**
 * The page of an entry, in a frame, and edited where it stands: a click opens the text of a piece over it, in the one editor there is, and what is typed is
 * shown at once. The frame sends what was clicked and where it is; no text comes from it.
 */
import { ChangeSet, type EditorState } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import { useNavigate } from '@tanstack/react-router';
import {
  type CSSProperties,
  type RefObject,
  useCallback,
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { valueAt } from '../../../../lib/json-pointer.ts';
import { decodedUri } from '../../../../lib/text.ts';
import type { FormPlace } from '../../../fields/form.tsx';
import type { FromPage, Placed } from '../../../in-page/messages.ts';
import type { Editor } from '../editor.ts';
import { loadDiffer } from '../save.ts';
import { openedPart, openPart, partsIn, setParts } from './one-block.ts';
import { FieldOver, overStyle } from './over.tsx';
import classes from './page.module.css';
import { PageBar } from './page-bar.tsx';
import { listenToFrame, type PagePort, useFrameFocus } from './page-port.ts';
import { isFieldText, offered, partsOf, shownNodes } from './pieces.ts';
import { readPage, useShownPage } from './site-page.ts';

/** What the editor around the frame calls. */
export interface PageHandle {
  /** The text, or the part of it that is shown, has changed. */
  changed: (state: EditorState) => void;
  scroll: (by: number) => void;
  close: () => void;
}

interface PageFrameProps {
  editor: Editor;
  place: FormPlace;
  slug: string;
  /** Address of the entry on its site; null: it has none. */
  url: string | null;
  view: EditorView | null;
  handle: RefObject<PageHandle | null>;
  /** Where the editor lies over the page; null: nowhere. */
  onOver: (style: CSSProperties | null) => void;
}

/** Milliseconds that a page may need from its end to the first message of its script. */
const silence = 5_000;

/** An address as its page is known by: servers add and drop what ends it. */
const pageName = (path: string) => decodedUri(path).replace(/(?:\/index)?\.html$|\/$/g, '') || '/';

export function PageFrame({ editor, place, slug, url, view, handle, onOver }: PageFrameProps) {
  const { t } = useTranslation('entry');
  const navigate = useNavigate();
  const { organization, project, collection } = place;
  const shownPage = useShownPage(place, editor.key.branch, url);
  const { page } = shownPage;
  const sha = useSyncExternalStore(editor.subscribe, () => editor.sha);
  const [state, setState] = useState<'here' | 'elsewhere' | 'silent'>('here');
  const [found, setFound] = useState<ReadonlySet<number>>(new Set());
  /** It is known which parts of the text the pieces are. */
  const [isConnected, setConnected] = useState(false);
  const [opened, setOpened] = useState<number | null>(null);
  const [placed, setPlaced] = useState<Placed | null>(null);
  const frame = useRef<HTMLIFrameElement>(null);
  const isPerson = useFrameFocus(frame);
  const list = useRef<HTMLInputElement>(null);
  const port = useRef<PagePort | null>(null);
  /** The text of each piece that the page shows. */
  const shown = useRef(new Map<number, string>());
  /** Where a click wants the cursor, in the window; null: where it is. */
  const wanted = useRef<{ x: number; y: number } | 'end' | null>(null);
  /** How far the page is scrolled, and what was open on it: a newer page begins there. */
  const last = useRef<{ top: number; from: number | null }>({ top: 0, from: null });
  const begunWith = useRef(sha);
  /** A page has begun in the frame since the one before was loaded. */
  const hasBegun = useRef(false);
  /** Of the wait for a page to begin after it was loaded. */
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const blocks = page?.annotations.blocks ?? [];

  /** Nothing is known any more of what the frame shows. */
  const forget = () => {
    close();
    setFound(new Set());
    setConnected(false);
    shown.current.clear();
  };
  const replace = useEffectEvent(() => {
    last.current.from = view ? (openedPart(view.state)?.from ?? null) : null;
    port.current = null;
    hasBegun.current = false;
    clearTimeout(timer.current);
    forget();
    setState('here');
  });
  const address = page?.url;
  useEffect(() => {
    replace();
    return () => {
      port.current = null;
    };
  }, [address]);

  /** Shows on the page what has changed in the text since it was shown there. */
  const show = (state: EditorState) => {
    const text = state.doc.toString();
    for (const part of partsIn(state)) {
      const slice = text.slice(part.from, part.to);
      if (!found.has(part.id) || shown.current.get(part.id) === slice) continue;
      shown.current.set(part.id, slice);
      port.current?.send({ type: 'show', id: part.id, nodes: shownNodes(text, part) });
    }
  };
  const showFields = () => {
    for (const [id, { field }] of blocks.entries()) {
      const value = field === null ? null : editor.value(field);
      if (!isFieldText(value) || !shown.current.has(id) || shown.current.get(id) === value) continue;
      shown.current.set(id, value);
      port.current?.send({ type: 'show', id, nodes: [{ tag: 'p', children: [value] }] });
    }
  };

  /** Finds the parts of the text that the pieces of the page are, once both are those of one version. */
  const connect = useEffectEvent(async () => {
    if (!view || !page || found.size === 0) return;
    const { entry } = page.annotations;
    if (entry?.sha !== editor.sha || entry?.body_line == null) return;
    const base = editor.base.body;
    const connected = port.current;
    const diff = await loadDiffer();
    if (port.current !== connected) return;
    const text = view.state.doc.toString();
    const changes = ChangeSet.of(
      diff(base, text).map(({ fromA, toA, fromB, toB }) => ({ from: fromA, to: toA, insert: text.slice(fromB, toB) })),
      base.length,
    );
    const all = partsOf(base, blocks, entry.body_line).filter(({ id }) => found.has(id));
    shown.current = new Map(all.map(({ id, from, to }) => [id, base.slice(from, to)]));
    for (const [id, { field }] of blocks.entries())
      if (field !== null && found.has(id)) shown.current.set(id, String(valueAt(editor.base.fields, field)));
    const parts = all.map((part) => ({
      ...part,
      from: changes.mapPos(part.from, -1),
      to: changes.mapPos(part.to, 1),
    }));
    view.dispatch({ effects: setParts.of(parts) });
    setConnected(true);
    show(view.state);
    showFields();
    const { top, from } = last.current;
    if (top > 0) port.current?.send({ type: 'restore', top });
    const again = parts.find((part) => part.from === from);
    if (again) open(again.id, 'end');
    // The page was loaded again, and does not know what is open.
    else if (opened !== null && shown.current.has(opened)) port.current?.send({ type: 'open', id: opened });
    else if (opened !== null) close();
    last.current.from = null;
  });
  useEffect(() => void connect(), [view, found, sha]);
  useEffect(() => editor.subscribe(showFields));

  const open = (id: number, at: { x: number; y: number } | 'end') => {
    const block = blocks[id];
    if (!block || !found.has(id) || editor.state().isLocked) return;
    const part = view && partsIn(view.state).find((one) => one.id === id);
    if (block.field === null && !part) return;
    setPlaced(null);
    setOpened(id);
    if (part && view) view.dispatch({ effects: openPart.of(id), selection: { anchor: part.to } });
    wanted.current = at;
    port.current?.send({ type: 'open', id });
  };
  const close = () => {
    setOpened(null);
    setPlaced(null);
    onOver(null);
    if (view && openedPart(view.state)) view.dispatch({ effects: openPart.of(null) });
    port.current?.send({ type: 'open', id: null });
  };

  const receive = useEffectEvent((message: FromPage) => {
    if (message.type === 'found') {
      if (message.ids.length === 0) setState('silent');
      return setFound(new Set(message.ids));
    }
    if (message.type === 'scrolled') {
      last.current.top = message.top;
      return;
    }
    if (message.type === 'placed') return message.id === opened ? setPlaced(message) : undefined;
    // A script of the page can send this, too.
    const box = frame.current?.getBoundingClientRect();
    if (!box || !isPerson()) return;
    if (message.id === null) close();
    else open(message.id, { x: box.left + message.left, y: box.top + message.top });
  });
  const begin = useEffectEvent(async (next: PagePort, path: string) => {
    port.current = next;
    hasBegun.current = true;
    if (!page) return;
    if (pageName(path) !== pageName(page.annotations.url)) {
      setState('elsewhere');
      forget();
      last.current = { top: 0, from: null };
      // Nor does a script of it lead a person to other entries.
      if (!isPerson()) return;
      const there = await readPage(place, page.deployment, path);
      // Another page has begun since, or the frame is gone.
      if (port.current !== next) return;
      const entry = typeof there === 'string' ? null : there.entry;
      if (entry && (entry.slug !== slug || entry.collection !== collection))
        void navigate({
          to: '/p/$organization/$project/content/$collection/$',
          params: { organization, project, collection: entry.collection, _splat: entry.slug },
          search: (before) => ({ draft: before.draft }),
        });
      return;
    }
    setState('here');
    if (!page.annotations.is_editable) return;
    next.send({ type: 'pieces', pieces: offered(blocks, (field) => editor.value(field)) });
  });
  useEffect(() => {
    if (!frame.current || address === undefined) return;
    return listenToFrame(frame.current, new URL(address).origin, { onBegin: begin, onMessage: receive });
  }, [address]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const loaded = () => {
    clearTimeout(timer.current);
    timer.current = hasBegun.current ? undefined : setTimeout(missed, silence);
    hasBegun.current = false;
  };
  /** What was loaded has no script: the page itself, or what a link of it has led to. */
  const missed = () => {
    if (hasBegun.current) return;
    setState(port.current === null ? 'silent' : 'elsewhere');
    port.current = null;
    forget();
  };

  useImperativeHandle(handle, () => ({
    changed: (state) => {
      show(state);
      const now = openedPart(state)?.id ?? null;
      if (now === null || now === opened) return;
      wanted.current = null;
      setPlaced(null);
      setOpened(now);
      port.current?.send({ type: 'open', id: now });
    },
    scroll: (by) => port.current?.send({ type: 'scroll', by }),
    close: () => {
      close();
      list.current?.focus();
    },
  }));

  const block = opened === null ? null : (blocks[opened] ?? null);
  const style = placed && frame.current ? overStyle(frame.current, placed) : null;
  const overText = block?.field === null ? style : null;
  const lay = useEffectEvent(() => {
    if (!overText || wanted.current === null || !view) return onOver(overText);
    const at = wanted.current;
    wanted.current = null;
    // What is not laid out yet takes no focus.
    requestAnimationFrame(() => {
      flushSync(() => onOver(overText));
      const part = openedPart(view.state);
      if (!part) return;
      const offset = at === 'end' ? part.to : view.posAtCoords(at, false);
      view.dispatch({ selection: { anchor: Math.min(Math.max(offset, part.from), part.to) } });
      view.focus();
    });
  });
  useEffect(() => lay(), [placed, opened]);

  /** Read again when another one is opened, and not with each key. */
  const pieces = useMemo(() => {
    if (!isConnected || !view) return [];
    const parts = new Map(partsIn(view.state).map((part) => [part.id, part]));
    return (page?.annotations.blocks ?? []).flatMap(({ kind, field }, id) => {
      const part = parts.get(id);
      if (!found.has(id) || (field === null && !part)) return [];
      const text = field === null ? view.state.sliceDoc(part?.from, part?.to) : String(editor.value(field));
      return [{ id, kind, text }];
    });
  }, [isConnected, page, found, view, editor, opened]);
  const choose = useRef<(id: number | null) => void>(() => {});
  choose.current = (id) => (id === null ? close() : open(id, 'end'));
  const onOpen = useCallback((id: number | null) => choose.current(id), []);
  return (
    <>
      <PageBar
        shown={shownPage}
        branch={editor.key.branch}
        list={list}
        pieces={pieces}
        opened={opened}
        onOpen={onOpen}
        state={state}
        isSaved={sha !== begunWith.current}
      />
      {page && (
        <iframe
          key={page.url}
          ref={frame}
          src={page.url}
          title={t('page_frame')}
          className={classes.frame}
          sandbox="allow-scripts allow-same-origin allow-forms allow-popups"
          referrerPolicy="no-referrer"
          onLoad={loaded}
        />
      )}
      {block?.field != null && style && (
        <FieldOver
          editor={editor}
          pointer={block.field}
          style={style}
          onScroll={(by) => port.current?.send({ type: 'scroll', by })}
          onClose={() => handle.current?.close()}
        />
      )}
    </>
  );
}
