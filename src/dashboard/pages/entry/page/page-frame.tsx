/**
 * The page of an entry, in a frame, and edited where it stands: a click opens the text of a piece over it, in the one editor there is, and what is typed is
 * shown at once. The frame sends what was clicked and where it is; no text comes from it.
 */
import { ChangeSet, type EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { notifications } from '@mantine/notifications';
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
import type { FromPage, PageElement, Placed } from '../../../in-page/messages.ts';
import { readPicture } from '../../../lib/media.ts';
import type { Editor } from '../editor.ts';
import { loadDiffer } from '../save.ts';
import { BlockDrag, type BlockDragHandle } from './block-drag.tsx';
import { focusPart } from './focus-part.ts';
import { openedPart, openPart, partsIn, setParts } from './one-block.ts';
import { FieldOver, overStyle } from './over.tsx';
import classes from './page.module.css';
import { PageBar } from './page-bar.tsx';
import { listenToFrame, type PagePort, useFrameFocus } from './page-port.ts';
import {
  imagesIn,
  isFieldText,
  landmarks,
  matchImages,
  offered,
  type Part,
  partsOf,
  partText,
  shownNodes,
} from './pieces.ts';
import { readPage, useShownPage } from './site-page.ts';
import { TouchGuard } from './touch-guard.tsx';

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
  /** The editor, once it is narrowed to what is open of the page, or shows all of the text beside it. */
  view: EditorView | null;
  handle: RefObject<PageHandle | null>;
  isBeside: boolean;
  /** Whether the text is to be edited beside the page, since it cannot be on it. */
  onBeside: (isBeside: boolean) => void;
  /** Files were dropped on the page. @param at end of the block behind which they go */
  onFiles: (view: EditorView, files: File[], at: number) => void;
  /** Where the editor lies over the page; null: nowhere. */
  onOver: (style: CSSProperties | null) => void;
}

/** A piece that is open: a newer page may have it under another number. */
interface OpenPiece {
  id: number;
  /** JSON Pointer of a field; null: a part of the text. */
  field: string | null;
}

/** Milliseconds that a page may need from its end to the first message of its script. */
const silence = 5_000;

/** Ids of parts in the order of the text; what is taken out has no place in it. */
const orderOf = (parts: readonly Part[]): number[] =>
  parts
    .filter(({ from, to }) => from < to)
    .sort((a, b) => a.from - b.from || a.id - b.id)
    .map(({ id }) => id);

/** Which of the images of its block a piece is. */
const imagePlace = ({ id, from }: Part, parts: readonly Part[]): number =>
  parts.filter((one) => one.kind === 'image' && one.from === from && one.id < id).length;

/** An address as its page is known by: servers add and drop what ends it. */
const pageName = (path: string) => decodedUri(path).replace(/(?:\/index)?\.html$|\/$/g, '') || '/';

export function PageFrame({
  editor,
  place,
  slug,
  url,
  view,
  handle,
  isBeside,
  onBeside,
  onFiles,
  onOver,
}: PageFrameProps) {
  const { t } = useTranslation('entry');
  const navigate = useNavigate();
  const { organization, project, collection } = place;
  const shownPage = useShownPage(place, editor.key.branch, url);
  const { page } = shownPage;
  const sha = useSyncExternalStore(editor.subscribe, () => editor.sha);
  const isLocked = useSyncExternalStore(editor.subscribe, () => editor.state().isLocked);
  const [state, setState] = useState<'here' | 'elsewhere' | 'silent'>('here');
  const [found, setFound] = useState<ReadonlySet<number>>(new Set());
  /** It is known which parts of the text the pieces are. */
  const [isConnected, setConnected] = useState(false);
  /** Editor that has these parts. */
  const connectedTo = useRef<EditorView | null>(null);
  /** The entry is edited in another version than the pieces were read for. */
  const [isBehind, setBehind] = useState(false);
  const [opened, setOpened] = useState<OpenPiece | null>(null);
  /** The same at once, for what is called while something is dispatched. */
  const openedNow = useRef<OpenPiece | null>(null);
  const [placed, setPlaced] = useState<Placed | null>(null);
  const frame = useRef<HTMLIFrameElement>(null);
  /** The page was taken away, since it took the focus again and again. */
  const [isStopped, setStopped] = useState(false);
  const stop = useEffectEvent(() => {
    port.current = null;
    clearTimeout(timer.current);
    forget();
    setStopped(true);
  });
  const focus = useFrameFocus(frame, () => stop());
  const list = useRef<HTMLInputElement>(null);
  const drag = useRef<BlockDragHandle>(null);
  const port = useRef<PagePort | null>(null);
  /** Addresses of the images that pieces were built with. */
  const builtImages = useRef(new Map<number, (string | undefined)[]>());
  /** Of the pictures that the page got. */
  const sentPictures = useRef(new Set<string>());
  /** Pieces in the order in which the page shows them. */
  const order = useRef('');
  /** The text of each piece that the page shows. */
  const shown = useRef(new Map<number, string>());
  /** Where a click wants the cursor, in the window; null: where it is. */
  const wanted = useRef<{ x: number; y: number } | 'end' | null>(null);
  /** How far the page is scrolled: a newer page begins there. */
  const top = useRef(0);
  /** Version of the entry for which the pieces were read again. */
  const readFor = useRef<string | null>(null);
  const begunWith = useRef(sha);
  /** A page has begun in the frame since the one before was loaded. */
  const hasBegun = useRef(false);
  /** The page has none of its pieces: whatever it says later, the text stays beside it. */
  const isWithout = useRef(false);
  /** Of the wait for a page to begin after it was loaded. */
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const blocks = page?.annotations.blocks ?? [];
  const builtOf = page?.annotations.entry ?? null;
  /** Two entries have this address, and the site shows the other one. */
  const isOther = builtOf !== null && (builtOf.slug !== slug || builtOf.collection !== collection);

  const setOpen = (piece: OpenPiece | null) => {
    openedNow.current = piece;
    setOpened(piece);
  };
  /** Nothing is known any more of what the frame shows. */
  const disconnect = () => {
    setFound(new Set());
    setConnected(false);
    setBehind(false);
    shown.current.clear();
  };
  const forget = () => {
    close();
    disconnect();
  };
  /** A newer page begins. What is open stays so: somebody may be typing in it. */
  const replace = useEffectEvent(() => {
    port.current = null;
    hasBegun.current = false;
    isWithout.current = false;
    clearTimeout(timer.current);
    disconnect();
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
    const inOrder = orderOf(partsIn(state));
    if (String(inOrder) !== order.current) {
      order.current = String(inOrder);
      port.current?.send({ type: 'order', ids: inOrder });
    }
    for (const part of partsIn(state)) {
      const slice = text.slice(part.from, part.to);
      if (!found.has(part.id) || shown.current.get(part.id) === slice) continue;
      shown.current.set(part.id, slice);
      const nodes = shownNodes(text, part);
      const built = builtImages.current.get(part.id) ?? [];
      matchImages(nodes, built);
      for (const { url, built: at } of imagesIn(nodes))
        if (at === undefined && url !== undefined) void sendPicture(url, port.current);
      port.current?.send({
        type: 'show',
        id: part.id,
        nodes: part.kind === 'image' ? ownImage(part, nodes, built.length) : nodes,
      });
    }
  };
  /** Of the images of a block the one that a piece is. */
  const ownImage = (part: Part, nodes: PageElement[], count: number): PageElement[] => {
    const images = imagesIn(nodes);
    const place = imagePlace(part, view ? partsIn(view.state) : []);
    const image = images.find(({ built }) => built === place) ?? (images.length === count ? images[place] : undefined);
    return image ? [{ tag: 'p', children: [image] }, ...(place === 0 ? nodes.slice(1) : [])] : [];
  };
  /** Sends a picture that the page was built without. */
  const sendPicture = async (url: string, to: PagePort | null) => {
    if (!to || sentPictures.current.has(url)) return;
    sentPictures.current.add(url);
    const data = await readPicture(place, url);
    if (!data) sentPictures.current.delete(url);
    else if (port.current === to) to.send({ type: 'picture', url, data });
  };
  const showFields = () => {
    for (const [id, { field }] of blocks.entries()) {
      const value = field === null ? null : editor.value(field);
      if (!isFieldText(value) || !shown.current.has(id) || shown.current.get(id) === value) continue;
      shown.current.set(id, value);
      port.current?.send({ type: 'show', id, nodes: [{ tag: 'p', children: [value] }] });
    }
  };

  /** Where offsets of the stored text are in the one that is edited. */
  const changesSince = (base: string, text: string, diff: Awaited<ReturnType<typeof loadDiffer>>) =>
    ChangeSet.of(
      diff(base, text).map(({ fromA, toA, fromB, toB }) => ({ from: fromA, to: toA, insert: text.slice(fromB, toB) })),
      base.length,
    );
  /** Finds the parts of the text that the pieces of the page are, once both are those of one version. */
  const connect = useEffectEvent(async () => {
    if (!view || isBeside || !page || found.size === 0 || (isConnected && connectedTo.current === view)) return;
    const { entry } = page.annotations;
    if (entry?.body_line == null) return;
    if (entry.sha !== editor.sha) {
      // One of the two was read before a save that the other one has: the page once more, and then the entry will follow.
      const isRead = readFor.current === editor.sha;
      readFor.current = editor.sha;
      if (isRead) return setBehind(true);
      return void shownPage.reread();
    }
    setBehind(false);
    const base = editor.base.body;
    const connected = port.current;
    const diff = await loadDiffer();
    if (port.current !== connected) return;
    const text = view.state.doc.toString();
    const changes = changesSince(base, text, diff);
    const all = partsOf(base, blocks, entry.body_line).filter(({ id }) => found.has(id));
    order.current = String(orderOf(all));
    sentPictures.current.clear();
    builtImages.current = new Map(
      all
        .filter(({ from, to }) => base.slice(from, to).includes('!['))
        .map((part) => [part.id, imagesIn(shownNodes(base, part)).map(({ url: address }) => address)]),
    );
    shown.current = new Map(all.map(({ id, from, to }) => [id, base.slice(from, to)]));
    for (const [id, { field }] of blocks.entries())
      if (field !== null && found.has(id)) shown.current.set(id, String(valueAt(editor.base.fields, field)));
    const parts = all.map((part) => ({
      ...part,
      from: changes.mapPos(part.from, -1),
      to: changes.mapPos(part.to, 1),
    }));
    const again = findAgain(parts, view.state);
    if (again) setOpen(again);
    view.dispatch({ effects: [setParts.of(parts), openPart.of(again?.field === null ? again.id : null)] });
    connectedTo.current = view;
    setConnected(true);
    show(view.state);
    showFields();
    if (top.current > 0) port.current?.send({ type: 'restore', top: top.current });
    if (again) port.current?.send({ type: 'open', id: again.id });
    else if (openedNow.current) close();
  });
  /** What was open, on a page that has just begun. */
  const findAgain = (parts: readonly Part[], state: EditorState): OpenPiece | null => {
    const before = openedNow.current;
    if (!before) return null;
    const { field } = before;
    const { head } = state.selection.main;
    const id =
      field === null
        ? (parts.find(({ from, to }) => from <= head && head <= to)?.id ?? -1)
        : blocks.findIndex((block, at) => block.field === field && found.has(at));
    return id < 0 ? null : { id, field };
  };
  useEffect(() => void connect(), [view, found, sha, page]);
  useEffect(() => editor.subscribe(showFields));

  const open = (id: number, at: { x: number; y: number } | 'end') => {
    const block = blocks[id];
    if (!block || block.is_changed || !found.has(id) || editor.state().isLocked) return;
    const part = view && partsIn(view.state).find((one) => one.id === id);
    if (block.field === null && !part) return;
    setPlaced(null);
    setOpen({ id, field: block.field });
    if (part && view) view.dispatch({ effects: openPart.of(id), selection: { anchor: part.to } });
    wanted.current = at;
    port.current?.send({ type: 'open', id });
  };
  const close = () => {
    setOpen(null);
    setPlaced(null);
    onOver(null);
    if (view && openedPart(view.state)) view.dispatch({ effects: openPart.of(null) });
    port.current?.send({ type: 'open', id: null });
  };

  /** The piece behind which they go has them until the next build: there they can be undone. */
  const dropFiles = (files: File[], behind: { to: number } | null) => {
    if (!view) return;
    const last = partsIn(view.state).findLast(
      ({ to, kind }) => to === behind?.to && kind !== 'table_cell' && kind !== 'image',
    );
    onFiles(view, files, behind?.to ?? view.state.doc.length);
    if (last) open(last.id, 'end');
  };

  /** Goes to the line of the text that a piece shows; null: to its beginning. */
  const goToLine = async (id: number | null) => {
    if (!view) return;
    const start = (id === null ? null : blocks[id]?.start_line) ?? 1;
    const line = Math.max(start - (page?.annotations.entry?.body_line ?? start), 0);
    const base = editor.base.body;
    const diff = await loadDiffer();
    // A person has gone on in the text meanwhile.
    if (view.hasFocus) return;
    const from = base.split('\n', line).reduce((length, one) => length + one.length + 1, 0);
    const at = changesSince(base, view.state.doc.toString(), diff).mapPos(Math.min(from, base.length), 1);
    view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
    view.focus();
  };

  const clicked = useEffectEvent(({ id, left, top, takesKeys }: Extract<FromPage, { type: 'clicked' }>) => {
    const box = frame.current?.getBoundingClientRect();
    if (!box) return;
    if (isBeside) void goToLine(id);
    else if (id === null) {
      close();
      if (!takesKeys) list.current?.focus();
    } else open(id, { x: box.left + left, y: box.top + top });
  });
  const receive = useEffectEvent((message: FromPage) => {
    if (message.type === 'found') {
      if (message.ids.length === 0 && page?.annotations.is_editable) {
        isWithout.current = true;
        setState('silent');
        close();
      }
      return setFound(new Set(message.ids));
    }
    if (message.type === 'scrolled') {
      top.current = message.top;
      return;
    }
    if (message.type === 'lost') {
      const lost = new Set(message.ids);
      setFound((now) => new Set([...now].filter((id) => !lost.has(id))));
      if (opened && lost.has(opened.id)) close();
      return;
    }
    if (message.type === 'here') {
      // The document was written anew, not replaced.
      clearTimeout(timer.current);
      return;
    }
    if (message.type === 'went') return went(message.path);
    if (message.type === 'placed') return message.id === opened?.id ? setPlaced(message) : undefined;
    if (message.type === 'hovered' || message.type === 'located' || message.type === 'dragged')
      return drag.current?.receive(message);
    // A script of the page can send these, too.
    if (message.type === 'saves') {
      if (!focus.isPerson()) return;
      (isBeside ? view?.contentDOM : list.current)?.focus();
      return void notifications.show({ message: t('page_had_keys') });
    }
    const from = port.current;
    focus.whenPerson(() => from === port.current && clicked(message));
  });
  const isOwn = (path: string) => page !== null && pageName(path) === pageName(page.annotations.url);
  /** The frame shows the page of another address: the editor follows a person there. */
  const follow = async (path: string) => {
    const begun = port.current;
    setState('elsewhere');
    forget();
    top.current = 0;
    // Nor does a script of it lead a person to other entries.
    if (!page || !focus.isPerson()) return;
    const there = await readPage(place, page.deployment, path);
    // Another page has begun since, or the frame is gone.
    if (port.current !== begun) return;
    const entry = typeof there === 'string' ? null : there.entry;
    // One that was deleted since has no editor.
    if (entry && entry.sha !== null && (entry.slug !== slug || entry.collection !== collection))
      void navigate({
        to: '/p/$organization/$project/content/$collection/$',
        params: { organization, project, collection: entry.collection, _splat: entry.slug },
        search: (before) => ({ draft: before.draft }),
      });
  };
  /** A script of the page shows another one, without loading it. */
  const went = (path: string) => {
    if (!isOwn(path)) void follow(path);
    else if (state === 'elsewhere' && focus.isPerson()) shownPage.reload();
  };
  const begin = useEffectEvent((next: PagePort, path: string) => {
    port.current = next;
    hasBegun.current = true;
    if (!page) return;
    if (!isOwn(path)) return void follow(path);
    if (isOther) return setState('here');
    setState(isWithout.current ? 'silent' : 'here');
    if (isWithout.current) return;
    const beside = !page.annotations.is_editable;
    const pieces = beside ? landmarks(blocks) : offered(blocks, (field) => editor.value(field));
    next.send({ type: 'pieces', pieces, beside });
  });
  useEffect(() => {
    if (!frame.current || address === undefined) return;
    return listenToFrame(frame.current, new URL(address).origin, { onBegin: begin, onMessage: receive });
  }, [address, isStopped]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const loaded = () => {
    clearTimeout(timer.current);
    timer.current = hasBegun.current ? undefined : setTimeout(missed, silence);
    if (!hasBegun.current) port.current?.send({ type: 'check' });
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
      if (now === null || now === openedNow.current?.id) return;
      wanted.current = null;
      setPlaced(null);
      setOpen({ id: now, field: null });
      port.current?.send({ type: 'open', id: now });
    },
    scroll: (by) => port.current?.send({ type: 'scroll', by }),
    close: () => {
      close();
      list.current?.focus();
    },
  }));

  const style = placed && frame.current ? overStyle(frame.current, placed) : null;
  const overText = opened?.field === null ? style : null;
  const lay = useEffectEvent(() => {
    if (!overText || wanted.current === null || !view) return onOver(overText);
    const at = wanted.current;
    wanted.current = null;
    // What is not laid out yet takes no focus.
    requestAnimationFrame(() => {
      flushSync(() => onOver(overText));
      const part = openedPart(view.state);
      if (!part) return;
      focusPart(view, part, blocks[part.id] ?? { kind: part.kind, text: '' }, at);
    });
  });
  useEffect(() => lay(), [placed, opened]);

  const isReadOnly = page !== null && !page.annotations.is_editable && state === 'here';
  const wantsBeside =
    shownPage.absence !== null || state === 'silent' || isStopped || isReadOnly || (isOther && state === 'here');
  useEffect(() => {
    if (wantsBeside === isBeside) return;
    if (wantsBeside || !view?.hasFocus) return onBeside(wantsBeside);
    // What somebody types in stays where it is until it is left.
    const left = () => onBeside(false);
    view.contentDOM.addEventListener('blur', left, { once: true });
    return () => view.contentDOM.removeEventListener('blur', left);
  }, [wantsBeside, isBeside, view, onBeside]);

  const goOn = () => {
    focus.reset();
    setStopped(false);
    setState('here');
    shownPage.reload();
  };

  /** Read again when another one is opened, and not with each key. */
  const pieces = useMemo(() => {
    if (!isConnected || !view) return [];
    const parts = new Map(partsIn(view.state).map((part) => [part.id, part]));
    return (page?.annotations.blocks ?? []).flatMap(({ kind, field }, id) => {
      const part = parts.get(id);
      if (!found.has(id) || (field === null && !part)) return [];
      const text =
        field === null ? partText(view.state.sliceDoc(part?.from, part?.to), part) : String(editor.value(field));
      return text === null ? [] : [{ id, kind, text }];
    });
  }, [isConnected, page, found, view, editor, opened]);
  const choose = useRef<(id: number | null) => void>(() => {});
  choose.current = (id) => (id === null ? close() : open(id, 'end'));
  const onOpen = useCallback((id: number | null) => choose.current(id), []);
  const scrollPages = useCallback((count: number) => {
    const by = count * (frame.current?.clientHeight ?? 0) * 0.9;
    port.current?.send({ type: 'scroll', by });
  }, []);
  return (
    <>
      <PageBar
        shown={{ ...shownPage, reload: () => (isStopped ? goOn() : shownPage.reload()) }}
        branch={editor.key.branch}
        list={list}
        pieces={pieces}
        opened={opened?.id ?? null}
        onOpen={onOpen}
        onScroll={scrollPages}
        state={isStopped ? 'stopped' : state !== 'here' ? state : isOther ? 'other' : isBehind ? 'behind' : 'here'}
        builtOf={builtOf?.slug ?? ''}
        isSaved={sha !== begunWith.current}
        isBeside={isBeside}
      />
      {page && !isStopped && (
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
      {focus.isGuarded && !isStopped && (
        <TouchGuard
          frame={frame}
          onTap={(at) => {
            focus.touch();
            port.current?.send({ type: 'tap', ...at });
          }}
          onScroll={(by) => port.current?.send({ type: 'scroll', by })}
        />
      )}
      {view && isConnected && !isBeside && (
        <BlockDrag
          ref={drag}
          frame={frame}
          view={view}
          isLocked={isLocked}
          opened={placed && { id: placed.id, box: placed.box }}
          send={(message) => port.current?.send(message)}
          onBegin={close}
          onMoved={(id) => open(id, 'end')}
          onFiles={dropFiles}
        />
      )}
      {opened?.field != null && style && (
        <FieldOver
          editor={editor}
          pointer={opened.field}
          style={style}
          onScroll={(by) => port.current?.send({ type: 'scroll', by })}
          onClose={() => handle.current?.close()}
        />
      )}
    </>
  );
}
