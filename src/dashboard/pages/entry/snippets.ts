/** Shortcodes and components of the site in the source: offered while one types `{{<` or `<`, and put in with places for their values. */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  closeCompletion,
  completionKeymap,
  completionStatus,
  snippet,
} from '@codemirror/autocomplete';
import { EditorState, type Extension, Prec } from '@codemirror/state';
import { EditorView, type KeyBinding, keymap } from '@codemirror/view';
import type { EntrySnippetsQuery } from '../../documents.ts';

export type SiteSnippet = NonNullable<
  NonNullable<NonNullable<NonNullable<EntrySnippetsQuery['project']>['studio']>['collection']>['snippets']
>['items'][number];

const place = '${}';

const openingOf = ({ kind, name }: SiteSnippet): string =>
  kind === 'component' ? `<${name}` : `{{${kind === 'shortcode' ? '<' : '%'} ${name}`;

const endOf = ({ kind }: SiteSnippet) => (kind === 'component' ? '>' : kind === 'shortcode' ? ' >}}' : ' %}}');

/** How it is named in menus and found while one types. */
export const labelOf = (one: SiteSnippet): string => `${openingOf(one)}${endOf(one)}`;

function templateOf(one: SiteSnippet): string {
  const { kind, name, attributes, is_paired } = one;
  const opening = [openingOf(one), ...attributes.map((attribute) => `${attribute}="${place}"`)].join(' ');
  if (kind === 'component') return is_paired ? `${opening}>\n${place}\n</${name}>` : `${opening} />`;
  const closing = is_paired ? `\n${place}\n${labelOf(one).replace(' ', ' /')}` : '';
  return `${opening}${endOf(one)}${closing}`;
}

/** What can be put in whatever the site is. */
export const plainTemplates = {
  quote: `> ${place}`,
  code: `\`\`\`${place}\n${place}\n\`\`\``,
  table: `| ${place} | ${place} |\n| --- | --- |\n| ${place} | ${place} |`,
} as const;

/** Puts a template at a place, the caret at its first place for a value; Tab goes to the next. */
export function putTemplate(view: EditorView, template: string, at: { from: number; to: number }): void {
  snippet(template)(view, null, at.from, at.to);
  view.focus();
}

/** Puts a snippet in, and before the text the line that imports a component, where it is missing. */
export function putSnippet(view: EditorView, one: SiteSnippet, { from, to }: { from: number; to: number }): void {
  const name = one.name.split('.')[0] ?? one.name;
  const isImported = new RegExp(`^import\\b[^'"\n]*\\b${name}\\b`, 'm').test(view.state.doc.toString());
  const line = one.import === null || isImported ? '' : `${one.import}\n`;
  const insert = line === '' || view.state.doc.line(1).text.startsWith('import ') ? line : `${line}\n`;
  if (insert !== '') view.dispatch({ changes: { from: 0, insert } });
  putTemplate(view, templateOf(one), { from: from + insert.length, to: to + insert.length });
}

const look = EditorView.theme({
  '.cm-tooltip.cm-tooltip-autocomplete': {
    background: 'var(--p-raised)',
    border: '1px solid var(--p-strong-line)',
    borderRadius: '6px',
    color: 'var(--p-ink)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'inherit', fontSize: '0.8125rem', maxHeight: '15em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '4px 12px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    background: 'var(--p-wash)',
    color: 'var(--p-ink)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
  '.cm-completionDetail': { color: 'var(--p-soft)', fontStyle: 'normal' },
  '.cm-snippetField': { background: 'var(--p-wash)' },
});

/** Escape closes what is open. What is only looked for keeps no key: Escape, then Tab, leaves the text right after a letter too. */
const completionKeys: readonly KeyBinding[] = [
  ...completionKeymap.filter(({ key }) => key !== 'Escape'),
  {
    key: 'Escape',
    run(view) {
      const isOpen = completionStatus(view.state) === 'active';
      closeCompletion(view);
      return isOpen;
    },
  },
];

/** @param load the site's snippets; called when the first is wanted */
export function snippetCompletion(load: () => Promise<readonly SiteSnippet[]>): Extension {
  const source = async (context: CompletionContext) => {
    const typed = context.matchBefore(/\{\{[<%]?[ \t]?[\w./-]{0,100}|<[A-Za-z][\w.]{0,100}|<$/);
    if (!typed) return null;
    const options = (await load()).map(
      (one): Completion => ({
        label: labelOf(one),
        detail: one.attributes.join(' '),
        apply: (view, _completion, from, to) => putSnippet(view, one, { from, to }),
      }),
    );
    return { from: typed.from, options, filter: true };
  };
  const completions = [{ autocomplete: source }];
  // As what the language knows: the visual mode completes by sources of its own instead.
  return [
    autocompletion({ icons: false, defaultKeymap: false }),
    Prec.highest(keymap.of(completionKeys)),
    EditorState.languageData.of(() => completions),
    look,
  ];
}
