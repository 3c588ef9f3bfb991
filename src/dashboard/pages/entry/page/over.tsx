/** What lies over a piece of a page, in the page's own look: the editor of the text, or a field of the entry. */
import { Textarea } from '@mantine/core';
import { type CSSProperties, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { Placed } from '../../../in-page/messages.ts';
import type { Editor } from '../editor.ts';
import classes from './page.module.css';

/** Where a piece of the page is in a frame, and how it looks. */
export function overStyle(frame: HTMLElement, { box, look }: Placed): CSSProperties {
  return {
    insetInlineStart: frame.offsetLeft + box.left,
    insetBlockStart: frame.offsetTop + box.top,
    inlineSize: Math.max(box.width, 120),
    minBlockSize: box.height,
    ...look,
    lineHeight: look.lineHeight === null ? 'normal' : `${look.lineHeight}px`,
    textAlign: look.textAlign as CSSProperties['textAlign'],
  };
}

/** All over a frame. */
export function coverStyle({ offsetLeft, offsetTop, clientWidth, clientHeight }: HTMLElement): CSSProperties {
  return {
    insetInlineStart: offsetLeft,
    insetBlockStart: offsetTop,
    inlineSize: clientWidth,
    blockSize: clientHeight,
  };
}

interface FieldOverProps {
  editor: Editor;
  /** JSON Pointer of the value. */
  pointer: string;
  style: CSSProperties;
  onScroll: (by: number) => void;
  onClose: () => void;
}

/** A field, edited where its page shows it. */
export function FieldOver({ editor, pointer, style, onScroll, onClose }: FieldOverProps) {
  const { t } = useTranslation('entry');
  const value = useSyncExternalStore(editor.subscribe, () => editor.value(pointer));
  const isLocked = useSyncExternalStore(editor.subscribe, () => editor.state().isLocked);
  const { insetInlineStart, insetBlockStart, inlineSize, ...look } = style;
  return (
    <Textarea
      className={classes.over ?? ''}
      style={{ insetInlineStart, insetBlockStart, inlineSize }}
      styles={{ input: { ...look, padding: 0, border: 0 } }}
      aria-label={t('piece_field')}
      autosize
      autoFocus
      readOnly={isLocked}
      value={typeof value === 'string' ? value : ''}
      onChange={(event) => {
        const typed = event.currentTarget.value;
        // A value of one line keeps to it.
        editor.set(pointer, String(value).includes('\n') ? typed : typed.replaceAll('\n', ' '));
      }}
      onWheel={(event) => onScroll(event.deltaY)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === 'Escape' || event.key === 'Enter') onClose();
      }}
    />
  );
}
