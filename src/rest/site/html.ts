/** Text that is markup already. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Piece = Html | string | number | false | null | undefined | readonly Piece[];

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string) => text.replace(/[&<>"']/g, (char) => entities[char] ?? char);

function markup(piece: Piece): string {
  if (piece instanceof Html) return piece.text;
  if (piece === false || piece === null || piece === undefined) return '';
  if (typeof piece === 'object') return piece.map(markup).join('');
  return escaped(String(piece));
}

/** Markup with its values escaped; lists are joined, and what is false or absent leaves nothing. */
export function html(parts: TemplateStringsArray, ...values: Piece[]): Html {
  return new Html(parts.reduce((text, part, at) => text + markup(values[at - 1]) + part));
}

/** One line of the small Markdown our texts use: `code` and **bold**. */
export function inline(text: string): Html {
  const code = escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>');
  return new Html(code.replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>'));
}

/** Paragraphs of that Markdown. */
export const paragraphs = (text: string): Html =>
  html`${text.split(/\n{2,}/).map((paragraph) => html`<p>${inline(paragraph)}</p>`)}`;
