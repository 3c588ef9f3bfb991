/** What `/` at the beginning of an empty block offers to put there: what Markdown has, and what the site's own texts use. */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import type { Extension } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import { i18n } from '../../../lib/i18n.ts';
import { labelOf, putSnippet, type SiteSnippet } from '../snippets.ts';
import { bulletOf, insertBlock } from './blocks.ts';
import { around, verbatimBlocks } from './marks.ts';

/** Actions of the page that end with something at the cursor. */
export interface Inserts {
  image: () => void;
  link: () => void;
  snippets: () => Promise<readonly SiteSnippet[]>;
}

type Act = (view: EditorView, at: number) => void;

/** A text of its own, with the cursor at `caret` in it. */
const put =
  (textOf: (view: EditorView) => string, caret?: number): Act =>
  (view, at) => {
    const text = textOf(view);
    view.dispatch(insertBlock(view.state, at, text, caret));
  };

export function slashMenu(inserts: Inserts): Extension {
  const bullet = ({ state }: EditorView) => `${bulletOf(state)} `;
  const options: [string, Act][] = [
    [i18n.t('entry:block_heading2'), put(() => '## ')],
    [i18n.t('entry:block_heading3'), put(() => '### ')],
    [i18n.t('entry:block_bullets'), put(bullet)],
    [i18n.t('entry:block_numbers'), put(() => '1. ')],
    [i18n.t('entry:block_tasks'), put((view) => `${bullet(view)}[ ] `)],
    [i18n.t('entry:block_quote'), put(() => '> ')],
    [i18n.t('entry:block_code'), put(() => '```\n\n```', 4)],
    [i18n.t('entry:block_table'), put(() => '|  |  |\n| --- | --- |\n|  |  |')],
    [i18n.t('entry:block_rule'), put(() => '---')],
    [i18n.t('entry:insert_image'), inserts.image],
    [i18n.t('entry:link_entry'), inserts.link],
  ];
  const source = async ({ state, pos }: CompletionContext): Promise<CompletionResult | null> => {
    const line = state.doc.lineAt(pos);
    const typed = /^\s*\/[\p{L}\p{N} ]{0,30}$/u.exec(line.text.slice(0, pos - line.from));
    if (!typed || around(state, pos, -1, ...verbatimBlocks)) return null;
    const slash = line.from + line.text.indexOf('/');
    const complete = ([label, act]: [string, Act], index: number): Completion => ({
      label,
      // In this order, not by the alphabet.
      boost: -index,
      apply(view, _completion, _from, to) {
        view.dispatch({ changes: { from: slash, to } });
        act(view, slash);
      },
    });
    const own = (await inserts.snippets()).map((one): [string, Act] => [
      labelOf(one),
      (view, at) => putSnippet(view, one, { from: at, to: at }),
    ]);
    return { from: slash + 1, options: [...options, ...own].map(complete) };
  };
  // Its slash was typed to choose from it: an Enter that comes as soon as it is there is no slip.
  return autocompletion({ override: [source], icons: false, interactionDelay: 0 });
}
