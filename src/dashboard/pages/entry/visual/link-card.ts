/** Beside a link or picture with the cursor: its address and text, to be changed where they are not seen. */
import { syntaxTree } from '@codemirror/language';
import { type EditorState, type Extension, Prec, StateField } from '@codemirror/state';
import { type EditorView, keymap, showTooltip, type Tooltip } from '@codemirror/view';
import { i18n } from '../../../lib/i18n.ts';
import { linkLabel, linkTarget } from '../../../lib/markdown-text.ts';
import { around } from './marks.ts';
import type { Span, SyntaxNode } from './shown.ts';

function linked(state: EditorState): SyntaxNode | null {
  const { main } = state.selection;
  const image = around(state, main.from, 1, 'Image');
  if (image && image.from === main.from && (main.empty || image.to === main.to)) return image;
  const link = around(state, main.head, -1, 'Link') ?? around(state, main.head, 1, 'Link');
  return link?.getChild('URL') && main.from >= link.from && main.to <= link.to ? link : null;
}

function field(label: string, value: string, apply: (value: string) => void, isReadOnly: boolean): HTMLElement {
  const element = document.createElement('label');
  element.textContent = label;
  const input = document.createElement('input');
  Object.assign(input, { className: 'cm-textfield', value, readOnly: isReadOnly });
  input.addEventListener('change', () => apply(input.value));
  element.append(input);
  return element;
}

/** The link at a place of now, since the text may have changed while the card was open. */
const nodeAt = (view: EditorView, name: string, at: number) => around(view.state, at + 1, 1, name);

function button(label: string, act: () => void): HTMLElement {
  const element = document.createElement('button');
  element.type = 'button';
  element.className = 'cm-button';
  element.textContent = label;
  element.addEventListener('click', act);
  return element;
}

function card(view: EditorView, name: string, at: number, onPicture: () => void): { dom: HTMLElement } {
  const dom = document.createElement('div');
  dom.className = 'cm-linkCard';
  const url = () => nodeAt(view, name, at)?.getChild('URL') ?? null;
  const text = (span: Span | null) => (span ? view.state.sliceDoc(span.from, span.to) : '');
  const { readOnly } = view.state;
  const setAddress = (value: string) => {
    const place = url();
    if (place && value.trim() !== '')
      view.dispatch({
        changes: { from: place.from, to: place.to, insert: linkTarget(value.trim()) },
        userEvent: 'link',
      });
  };
  dom.append(field(i18n.t('entry:address'), text(url()).replace(/^<|>$/g, ''), setAddress, readOnly));
  const node = nodeAt(view, name, at);
  const marks = node?.getChildren('LinkMark') ?? [];
  const [open, close] = marks;
  if (name === 'Image' && open && close)
    dom.append(
      field(
        i18n.t('entry:alternative_text'),
        text({ from: open.to, to: close.from }).replace(/\\(.)/g, '$1'),
        (value) => {
          const [first, second] = nodeAt(view, name, at)?.getChildren('LinkMark') ?? [];
          if (first && second)
            view.dispatch({
              changes: { from: first.to, to: second.from, insert: linkLabel(value) },
              userEvent: 'link',
            });
        },
        readOnly,
      ),
    );
  if (name === 'Image' && !readOnly)
    dom.append(
      button(i18n.t('entry:another_picture'), () => {
        const image = nodeAt(view, name, at);
        if (!image) return;
        view.dispatch({ selection: { anchor: image.from, head: image.to } });
        onPicture();
      }),
    );
  if (name === 'Link' && !readOnly)
    dom.append(
      button(i18n.t('entry:remove_link'), () => {
        const link = nodeAt(view, name, at);
        const [first, second] = link?.getChildren('LinkMark') ?? [];
        if (!link || !first || !second) return;
        view.dispatch({
          changes: [
            { from: first.from, to: first.to },
            { from: second.from, to: link.to },
          ],
          userEvent: 'link',
        });
        view.focus();
      }),
    );
  dom.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' && event.key !== 'Enter') return;
    // The text would take the key that it gets the focus by.
    event.preventDefault();
    view.focus();
  });
  return { dom };
}

/** The card of a picture by key: text is indented by it elsewhere. */
function enterCard(view: EditorView): boolean {
  if (linked(view.state)?.name !== 'Image') return false;
  const input = view.dom.querySelector<HTMLInputElement>('.cm-linkCard input');
  input?.focus();
  return input !== null;
}

/** @param onPicture lets the person choose a picture, which takes the place of what is selected */
export function linkCard(onPicture: () => void): Extension {
  const tooltip = (state: EditorState): Tooltip | null => {
    const node = linked(state);
    if (!node || syntaxTree(state).length < node.to) return null;
    const { name, from } = node;
    return { pos: from, above: false, create: (view) => card(view, name, from, onPicture) };
  };
  return [
    Prec.high(keymap.of([{ key: 'Tab', run: enterCard }])),
    StateField.define<Tooltip | null>({
      create: tooltip,
      update(known, { state, docChanged, selection }) {
        if (!docChanged && !selection) return known;
        const next = tooltip(state);
        return known && next && known.pos === next.pos ? known : next;
      },
      provide: (field) => showTooltip.from(field),
    }),
  ];
}
