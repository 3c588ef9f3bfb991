/**
 * Over a page in its frame: a handle beside the block under the mouse, by which it is dragged, and a place to drop files. The page says only where its pieces
 * are; the blocks that are moved, or get a picture behind them, are those of the text.
 */
import { ensureSyntaxTree } from '@codemirror/language';
import type { Text } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import { useWindowEvent } from '@mantine/hooks';
import {
  type CSSProperties,
  type PointerEvent,
  type Ref,
  type RefObject,
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import type { Box, FromPage, Hovered, Located, ToPage } from '../../../in-page/messages.ts';
import { blockAt, moveBefore, siblingsOf } from '../visual/blocks.ts';
import type { SyntaxNode } from '../visual/shown.ts';
import { partsIn } from './one-block.ts';
import { coverStyle } from './over.tsx';
import classes from './page.module.css';

/** Milliseconds between two requests for what is under the mouse: 20 messages of a page are taken in a second. */
const pace = 80;
/** Pixels of the handle, and of the edges at which the page scrolls while something is dragged. */
const size = 24;
const edge = 40;
/** Pixels before a block that the handle needs. */
const room = size + 8;
/** Milliseconds that the tree of a long text may take. */
const patience = 500;

export interface BlockDragHandle {
  receive: (message: Extract<FromPage, { type: 'hovered' | 'located' | 'dragged' }>) => void;
}

/** What is dragged: a block of the text, or files. */
interface Drag {
  block: SyntaxNode | null;
  /** Blocks before or behind which it can go, and the pieces that show each. */
  targets: readonly SyntaxNode[];
  groups: readonly (readonly number[])[];
  /** The text they are blocks of. */
  doc: Text;
}

/** @param at the block at which something is dropped; null: there is none */
type Drop = (at: SyntaxNode | null, isAfter: boolean) => void;

interface BlockDragProps {
  ref: Ref<BlockDragHandle>;
  frame: RefObject<HTMLIFrameElement | null>;
  /** The editor of the text, once it is known which parts of it the pieces are. */
  view: EditorView;
  isLocked: boolean;
  /** The piece that is open, and where it is. */
  opened: Hovered;
  send: (message: ToPage) => void;
  /** Something is dragged: what is open gets in the way. */
  onBegin: () => void;
  onMoved: (id: number) => void;
  /** @param behind the block that they were dropped on; null: there is none */
  onFiles: (files: File[], behind: SyntaxNode | null) => void;
}

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false;
const between = (low: number, value: number, high: number) => Math.max(low, Math.min(value, high));

/** The blocks that pieces of the page show, with those pieces. */
function shownBlocks({ state }: EditorView, blocks: readonly SyntaxNode[]): Pick<Drag, 'targets' | 'groups' | 'doc'> {
  const parts = partsIn(state);
  const found = blocks.map((block) => ({
    block,
    ids: parts.filter(({ from }) => block.from <= from && from <= block.to).map(({ id }) => id),
  }));
  const shown = found.filter(({ ids }) => ids.length > 0);
  return { targets: shown.map(({ block }) => block), groups: shown.map(({ ids }) => ids), doc: state.doc };
}

function handleStyle({ offsetLeft, offsetTop, clientWidth, clientHeight }: HTMLElement, box: Box): CSSProperties {
  // Where there is no room before it, the handle is behind it, and where there is none either, at its end: it hides no small picture.
  const [before, behind] = [box.left - room, box.left + box.width + 8];
  const atEnd = behind + size <= clientWidth ? behind : box.left + box.width - size;
  const left = before < 0 ? atEnd : before;
  return {
    insetInlineStart: offsetLeft + between(0, left, clientWidth - size),
    insetBlockStart: offsetTop + between(0, box.top, clientHeight - size),
  };
}

function markStyle(frame: HTMLElement, { box, isAfter }: NonNullable<Located>, isBehind: boolean): CSSProperties {
  const { offsetLeft, offsetTop, clientWidth, clientHeight } = frame;
  const left = between(0, box.left, clientWidth - size);
  return {
    insetInlineStart: offsetLeft + left,
    insetBlockStart:
      offsetTop + between(0, isBehind || isAfter ? box.top + box.height + 2 : box.top - 4, clientHeight - 2),
    inlineSize: between(size, box.width, clientWidth - left),
  };
}

export function BlockDrag({ ref, frame, view, isLocked, opened, send, onBegin, onMoved, onFiles }: BlockDragProps) {
  const { t } = useTranslation('entry');
  const [hovered, setHovered] = useState<Hovered>(null);
  const [held, setHeld] = useState<Hovered>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const [target, setTarget] = useState<Located>(null);
  /** Where the mouse is, in the window of the page. */
  const pointer = useRef<{ left: number; top: number } | null>(null);

  /** Number of the last request for what is under the mouse. */
  const request = useRef(0);
  const dropped = useRef<{ request: number; act: Drop } | null>(null);

  const begin = (next: Drag, handle: Hovered = null) => {
    onBegin();
    setHeld(handle);
    pointer.current = null;
    setHovered(null);
    setTarget(null);
    setDrag(next);
  };
  const end = () => {
    dropped.current = null;
    setDrag(null);
    setHeld(null);
    setTarget(null);
  };
  const beginFiles = () => {
    if (drag || isLocked) return;
    const tree = ensureSyntaxTree(view.state, view.state.doc.length, patience);
    const top = tree?.topNode.firstChild;
    begin({ block: null, ...shownBlocks(view, top ? siblingsOf(top) : []) });
  };
  const beginBlock = (event: PointerEvent<HTMLElement>, at: NonNullable<Hovered>) => {
    if (event.button !== 0 || isLocked || !ensureSyntaxTree(view.state, view.state.doc.length, patience)) return;
    const part = partsIn(view.state).find(({ id }) => id === at.id);
    const block = part && blockAt(view.state, part.from);
    if (!block) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    begin({ block, ...shownBlocks(view, siblingsOf(block)) }, at);
    follow(event);
  };
  const follow = ({ clientX, clientY }: { clientX: number; clientY: number }) => {
    const box = frame.current?.getBoundingClientRect();
    if (box) pointer.current = { left: clientX - box.left, top: clientY - box.top };
  };
  const requestPlace = () => {
    if (!drag || !pointer.current) return;
    request.current += 1;
    send({ type: 'locate', groups: drag.groups, ...pointer.current, request: request.current });
  };
  const scroll = () => {
    if (!pointer.current) return;
    const { top } = pointer.current;
    if (top < edge) send({ type: 'scroll', by: -edge / 2 });
    else if (top > (frame.current?.clientHeight ?? 0) - edge) send({ type: 'scroll', by: edge / 2 });
  };
  const update = useEffectEvent(() => {
    scroll();
    requestPlace();
  });
  /** What was dragged is let go of. The place is requested once more, for the mouse may have moved since. */
  const drop = (act: Drop) => {
    if (!drag || !pointer.current || dropped.current) return;
    requestPlace();
    dropped.current = { request: request.current, act };
    setTimeout(() => dropped.current?.act === act && end(), patience);
  };
  const dropBlock = () =>
    drop((at, isAfter) => {
      const block = drag?.block;
      const moved = block && partsIn(view.state).find(({ from }) => block.from <= from && from <= block.to);
      const change = at && block && moveBefore(view.state, block, isAfter ? at.nextSibling : at);
      if (!change || !moved || view.state.readOnly) return;
      view.dispatch(change);
      onMoved(moved.id);
    });
  const locate = ({ at, request: answered }: Extract<FromPage, { type: 'located' }>) => {
    const block = at && drag?.targets[at.group];
    const located = block ? at : null;
    if (dropped.current?.request !== answered) return setTarget(located);
    const { act } = dropped.current;
    // The text has become another one.
    const isOld = drag?.doc !== view.state.doc;
    end();
    if (!isOld) act(block ?? null, located?.isAfter ?? false);
  };

  const isDragged = drag !== null;
  useEffect(() => {
    if (!isDragged) return;
    const timer = setInterval(() => update(), pace);
    return () => clearInterval(timer);
  }, [isDragged]);

  useImperativeHandle(ref, () => ({
    receive: (message) => {
      if (message.type === 'located') return locate(message);
      if (message.type === 'dragged') return beginFiles();
      // Not while the mouse is elsewhere, on the handle for one.
      if (!drag && frame.current?.matches(':hover')) setHovered(message.at);
    },
  }));
  useWindowEvent('dragenter', (event) => {
    if (hasFiles(event)) beginFiles();
  });
  useWindowEvent('dragleave', ({ relatedTarget }) => {
    if (drag?.block === null && relatedTarget === null) end();
  });
  useWindowEvent('drop', () => {
    if (drag?.block === null && !dropped.current) end();
  });
  useWindowEvent('keydown', ({ key }) => {
    if (key === 'Escape') end();
  });
  useWindowEvent('pointerover', ({ target: over }) => {
    if (over instanceof Element && over !== frame.current && !over.classList.contains(classes.handle ?? ''))
      setHovered(null);
  });

  if (!frame.current) return null;
  const isPart = ({ id }: NonNullable<Hovered>) => partsIn(view.state).some((part) => part.id === id);
  // What is dragged keeps the handle that is held.
  const beside = drag ? held : (hovered ?? opened);
  // Of the piece that is open the editor lies behind what the page shows of it, too: there it would hide what is edited.
  const isHidden = !drag && beside?.id === opened?.id && beside !== null && beside.box.left < room;
  return (
    <>
      {beside && !isHidden && !isLocked && isPart(beside) && (
        // Alt+arrows do the same by keyboard.
        <div
          className={classes.handle ?? ''}
          aria-hidden
          title={t('drag_block')}
          style={handleStyle(frame.current, beside.box)}
          onPointerDown={(event) => beginBlock(event, beside)}
          onPointerMove={(event) => drag && follow(event)}
          onPointerUp={dropBlock}
          onPointerCancel={end}
        >
          ⠿
        </div>
      )}
      {drag?.block === null && (
        // biome-ignore lint/a11y/noStaticElementInteractions: pasting does the same by keyboard
        <div
          className={classes.drop ?? ''}
          data-testid="page-drop"
          style={coverStyle(frame.current)}
          onDragOver={(event) => {
            event.preventDefault();
            event.dataTransfer.dropEffect = 'copy';
            follow(event);
          }}
          // What is dragged sends no such event.
          onMouseMove={end}
          onDrop={(event) => {
            event.preventDefault();
            const files = [...event.dataTransfer.files];
            follow(event);
            drop((at) => files.length > 0 && onFiles(files, at));
          }}
        />
      )}
      {drag && target && (
        <div
          className={classes.mark ?? ''}
          data-testid="drop-mark"
          style={markStyle(frame.current, target, drag.block === null)}
        />
      )}
    </>
  );
}
