import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const post = (body: string) => `---\ntitle: One\n---\n\n${body}`;
const many = Array.from({ length: 600 }, (_, at) => [
  `content/notes/${String(at).padStart(3, '0')}.md`,
  post('{{< one >}}\n'),
]);

const app = shared(startTestApp);
beforeAll(() =>
  seed(app, {
    'hugo.toml': 'title = "Site"\n',
    'layouts/shortcodes/gallery.html': '<div></div>\n',
    'themes/plain/layouts/_shortcodes/forms/contact.html': '<form></form>\n',
    'layouts/partials/head.html': '<head></head>\n',
    'content/posts/a.md': post(`{{< figure src="a.png" alt="A" >}}
{{< figure src="b.png" alt="B" class="wide" >}}
{{% notice kind="tip" %}}
Text
{{% /notice %}}
\`{{< quoted >}}\` and <https://example.org> and <b>bold</b>.

\`\`\`md
{{< fenced >}}
<Fenced />
\`\`\`
`),
    'content/posts/b.md': post('{{< figure src="c.png" >}}\n'),
    'content/pages/c.md': post(`import Box from '../../src/components/Box.astro';

<Box title="One" items={[1, 2]} wide>
Text
</Box>
<Tabs.Item label="x" />
`),
    'content/wide/d.md': post(`<Wide ${Array.from({ length: 49 }, (_, at) => `a${at}=""`).join(' ')} kept="" />
<Wide kept="" later="" />
<Wide kept="" later="" />
`),
    ...Object.fromEntries(many),
  }),
);

const snippetsOf = (collection: string, query = '') => app.ask('GET', `${studio}/snippets/${collection}${query}`);

describe('200', () => {
  it('lists the shortcodes of the texts with their usual attributes, and those that are only defined', async () => {
    const { status, body } = await snippetsOf('posts');
    expect(status).toBe(200);
    const plain = { is_paired: false, import: null };
    expect(body.items).toEqual([
      { ...plain, kind: 'shortcode', name: 'figure', attributes: ['src', 'alt'], use_count: 3 },
      { ...plain, kind: 'markdown_shortcode', name: 'notice', attributes: ['kind'], is_paired: true, use_count: 1 },
      { ...plain, kind: 'shortcode', name: 'forms/contact', attributes: [], use_count: 0 },
      { ...plain, kind: 'shortcode', name: 'gallery', attributes: [], use_count: 0 },
    ]);
  });

  it('lists components with the line that imports them', async () => {
    const { body } = await snippetsOf('pages');
    expect(body.items.slice(0, 2)).toEqual([
      {
        kind: 'component',
        name: 'Box',
        attributes: ['title', 'items'],
        is_paired: true,
        import: "import Box from '../../src/components/Box.astro';",
        use_count: 1,
      },
      { kind: 'component', name: 'Tabs.Item', attributes: ['label'], is_paired: false, import: null, use_count: 1 },
    ]);
  });

  it('counts the first 50 attributes of a component in all of its uses', async () => {
    expect((await snippetsOf('wide')).body.items[0]).toMatchObject({
      name: 'Wide',
      attributes: ['kept'],
      use_count: 3,
    });
  });

  it('reads 500 of 600 entries', async () => {
    expect((await snippetsOf('notes')).body.items[0]).toMatchObject({ name: 'one', use_count: 500 });
  });

  it('lists another shortcode once a text uses it', async () => {
    const change = { body: '{{< fresh >}}\n' };
    expect((await app.ask('PUT', `${studio}/collections/posts/b`, { body: change })).status).toBe(200);
    expect((await snippetsOf('posts')).body.items.map(({ name }: { name: string }) => name)).toContain('fresh');
  });
});

it('returns 404 for a collection that does not exist', async () => {
  expectRefusal(await snippetsOf('nothing'), 404, 'not_found', 'Collection nothing does not exist');
});
