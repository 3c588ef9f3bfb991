import { wordOf } from './content.ts';
import { seeded } from './statistics.ts';

/** What a site's Markdown supports beside GFM, as its generator is configured here. */
export type Flavour = 'mdx' | 'admonitions' | 'containers' | 'liquid' | 'shortcodes' | 'plain';

/**
 * A body with every kind of block, made of words by chance: repeated headings and paragraphs, short cells, lists in lists, inline marks,
 * typographic signs. The same number gives the same body.
 */
export function richBody(number: number, flavour: Flavour): string {
  const random = seeded(number + 1);
  const below = (count: number) => Math.floor(random() * count);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  const word = () => wordOf(Math.floor(random() ** 3 * 3_000));
  const words = (least: number, most: number) =>
    Array.from({ length: least + below(most - least + 1) }, word).join(' ');
  const inline = (): string =>
    pick([
      () => `**${words(1, 3)}**`,
      () => `*${words(1, 2)}*`,
      () => `\`${words(1, 2)}\``,
      () => `[${words(1, 3)}](https://example.org/${below(50)})`,
      () => `"${words(1, 3)}"`,
      () => `${words(1, 2)} -- ${words(1, 2)}`,
      () => `${words(1, 1)}'s`,
      () => `${words(1, 1)}...`,
      () => `**${words(1, 2)} *${word()}* ${word()}**`,
      () => `${words(1, 1)} &amp; ${words(1, 1)}`,
      ...(flavour === 'liquid' ? [() => `{{ "${words(1, 2)}" }}`] : []),
    ])();
  const sentence = () => {
    const parts = Array.from({ length: 2 + below(5) }, () => (below(3) === 0 ? inline() : words(2, 6)));
    const text = `${word()} ${parts.join(' ')}`;
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}${pick(['.', '.', '.', '?', '!'])}`;
  };
  const paragraph = () => Array.from({ length: 1 + below(4) }, sentence).join(pick([' ', '\n']));
  const repeated = [pick(['Notes', 'Install', 'See also']), 'Usage', `${words(3, 5)}`];
  const said = paragraph();
  const list = (depth: number): string => {
    const ordered = below(3) === 0;
    const mark = (at: number) => (ordered ? `${at + 1}. ` : '- ');
    return Array.from({ length: 2 + below(3) }, (_, at) => {
      const item = `${mark(at)}${below(3) === 0 ? words(1, 2) : sentence()}`;
      const inner = depth < 2 && below(3) === 0 ? `\n${indented(list(depth + 1), ordered ? 3 : 2)}` : '';
      return item + inner;
    }).join('\n');
  };
  const table = () => {
    const columns = 2 + below(3);
    const cells = (make: () => string) => `| ${Array.from({ length: columns }, make).join(' | ')} |`;
    const rows = Array.from({ length: 2 + below(4) }, () =>
      cells(() => pick([() => String(below(20)), () => 'yes', () => 'no', () => words(1, 4), () => `\`${word()}\``])()),
    );
    return [cells(() => words(1, 2)), cells(() => '---'), ...rows].join('\n');
  };
  const code = () => {
    const lines = Array.from({ length: 1 + below(5) }, () => `${word()}(${word()}, ${below(99)});`);
    return ['```js', ...lines, '```'].join('\n');
  };
  const special: Record<Flavour, (() => string)[]> = {
    mdx: [() => `:::note\n\n${paragraph()}\n\n:::`, () => `<div>\n\n${paragraph()}\n\n- ${sentence()}\n\n</div>`],
    admonitions: [() => `> ${sentence()}`, () => `> ${sentence()}\n>\n> - ${words(2, 4)}`],
    containers: [() => `::: tip\n${paragraph()}\n:::`],
    liquid: [() => `{% if true %}\n${paragraph()}\n{% endif %}`],
    shortcodes: [
      () => `{{< figure src="/a.png" alt="${words(2, 3)}" >}}`,
      () => `{{< highlight js >}}\n${word()}();\n{{< /highlight >}}`,
    ],
    plain: [() => `> ${sentence()}`],
  };
  const blocks: (() => string)[] = [
    paragraph,
    paragraph,
    paragraph,
    () => `${pick(['##', '###', '####'])} ${below(3) === 0 ? pick(repeated) : words(1, 5)}`,
    () => list(0),
    table,
    code,
    () => `> ${sentence()}`,
    () => `![${words(2, 4)}](https://example.org/${word()}.png)`,
    () => said,
    () => '***',
    ...special[flavour],
  ];
  const count = 12 + below(30);
  const text = Array.from({ length: count }, () => pick(blocks)()).join('\n\n');
  return `\n${paragraph()}\n\n${text}\n\n${paragraph()}\n`;
}

const indented = (text: string, by: number) => text.replace(/^(?=.)/gm, ' '.repeat(by));
