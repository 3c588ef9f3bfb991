import { type RefObject, startTransition, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FormPlace } from '../../fields/form.tsx';
import { parseMarkdown } from '../../lib/markdown.ts';
import type { Editor } from './editor.ts';
import classes from './entry.module.css';
import { Markdown } from './markdown.tsx';

type View = import('@codemirror/view').EditorView;

/** Milliseconds after the last key press, by the length of the text: what takes longer waits longer. */
const delayFor = (length: number) => Math.min(150 + length / 500, 2000);

/** Blocks of the preview with the lines they begin at, from top to bottom. */
function blocksOf(pane: HTMLElement): { line: number; top: number }[] {
  const origin = pane.getBoundingClientRect().top - pane.scrollTop;
  return [...pane.querySelectorAll<HTMLElement>('[data-line]')].map((element) => ({
    line: Number(element.dataset.line),
    top: element.getBoundingClientRect().top - origin,
  }));
}

/** Between two known points: where a value of one scale is on the other. */
function along<Key extends 'line' | 'top'>(blocks: { line: number; top: number }[], from: Key, value: number): number {
  const to = from === 'line' ? 'top' : 'line';
  const next = blocks.findIndex((block) => block[from] > value);
  const [before, after] = [blocks[(next === -1 ? blocks.length : next) - 1], next === -1 ? undefined : blocks[next]];
  if (!before) return 0;
  if (!after) return before[to];
  return before[to] + ((value - before[from]) / (after[from] - before[from])) * (after[to] - before[to]);
}

/** Scrolls one side as the other is scrolled: the line at the top of the source is at the top of the preview. */
function keepInStep(view: View, pane: HTMLElement): () => void {
  // The side that follows scrolls as well, and must not lead for that.
  let following: EventTarget | null = null;
  const isLed = (side: HTMLElement) => {
    const isFollowing = following === side;
    if (isFollowing) following = null;
    return isFollowing;
  };
  const fromSource = () => {
    if (isLed(view.scrollDOM)) return;
    const block = view.lineBlockAtHeight(view.scrollDOM.scrollTop);
    const inside = block.height > 0 ? (view.scrollDOM.scrollTop - block.top) / block.height : 0;
    const line = view.state.doc.lineAt(block.from).number + inside;
    const top = Math.round(along(blocksOf(pane), 'line', line));
    if (Math.abs(pane.scrollTop - top) < 2) return;
    following = pane;
    pane.scrollTop = top;
  };
  const fromPreview = () => {
    if (isLed(pane)) return;
    const line = along(blocksOf(pane), 'top', pane.scrollTop);
    const number = Math.min(Math.max(Math.floor(line), 1), view.state.doc.lines);
    const top = Math.round(view.lineBlockAt(view.state.doc.line(number).from).top);
    if (Math.abs(view.scrollDOM.scrollTop - top) < 2) return;
    following = view.scrollDOM;
    view.scrollDOM.scrollTop = top;
  };
  view.scrollDOM.addEventListener('scroll', fromSource, { passive: true });
  pane.addEventListener('scroll', fromPreview, { passive: true });
  return () => {
    view.scrollDOM.removeEventListener('scroll', fromSource);
    pane.removeEventListener('scroll', fromPreview);
  };
}

interface PreviewProps {
  editor: Editor;
  place: FormPlace;
  view: RefObject<View | null>;
}

/** The text as it reads, soon after each change, scrolled in step with its source. */
export function Preview({ editor, place, view }: PreviewProps) {
  const { t } = useTranslation('entry');
  const pane = useRef<HTMLElement>(null);
  const [root, setRoot] = useState(() => parseMarkdown(editor.text));
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = editor.subscribeText(() => {
      clearTimeout(timer);
      const show = () => startTransition(() => setRoot(parseMarkdown(editor.text)));
      timer = setTimeout(show, delayFor(view.current?.state.doc.length ?? 0));
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [editor, view]);
  useEffect(() => (view.current && pane.current ? keepInStep(view.current, pane.current) : undefined), [view]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section ref={pane} className={classes.preview} aria-label={t('preview')} tabIndex={0}>
      <Markdown root={root} place={place} />
    </section>
  );
}
