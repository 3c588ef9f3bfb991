import { describe, expect, it } from 'vitest';
import { assets, links, read } from './reading.ts';

const each = (markup: string[]) => markup.map((html): [string] => [html]);

describe('assets', () => {
  it.each(
    each([
      '<img src=x>',
      '<image src=x>',
      '<script src=x></script>',
      '<iframe src=x></iframe>',
      '<embed src=x>',
      '<audio src=x></audio>',
      '<video src=x></video>',
      '<video><source src=x></video>',
      '<video><track src=x></video>',
      '<input type=image src=x>',
      '<video poster=x></video>',
      '<object data=x></object>',
      '<link rel=stylesheet href=x>',
      '<link rel="Shortcut ICON" href=x>',
      '<link rel=manifest href=x>',
      '<link rel=preload as=font href=x>',
      '<link rel=modulepreload href=x>',
      '<link rel=apple-touch-icon href=x>',
      '<link rel=preload as=image imagesrcset="x 1x">',
      '<body background=x>',
      '<table><td background=x>',
      '<svg><image href=x /></svg>',
      '<svg><image xlink:href=x /></svg>',
      '<svg><use href="x#part"/></svg>',
      '<svg><use xlink:href="x#part"/></svg>',
      '<meta property=og:image content=x>',
      '<meta name=twitter:image content=x>',
      '<img data-src=x>',
      '<img data-srcset="x 2x">',
      '<img srcset="x">',
      '<picture><source srcset="x 100w"></picture>',
      '<p style="background: url(x)">',
      '<style>p { background: url(x) }</style>',
      '<style>@import "x";',
      '<svg><style>p{fill:url(x)}</style></svg>',
      '<template><img src=x></template>',
      '<noscript><img src=x></noscript>',
      '<iframe srcdoc="<img src=x>"></iframe>',
    ]),
  )('of %s', (html) => {
    expect(read(html).assets.map(({ url }) => url)).toEqual(['https://example.com/docs/x']);
    expect(read(html, { parserOn: false }).assets).toEqual([]);
  });

  it.each(
    each([
      '<img src="">',
      '<img src="#x">',
      '<img src="data:image/gif;base64,R0lGOD">',
      '<img src=blob:https://example.com/x>',
      '<a href=javascript:x style="color:red">',
      '<svg><use href="#x"/></svg>',
      '<!-- <img src=x> -->',
      '<script>"<img src=x>"; url(x)</script>',
      '<style type=text/template>url(x)</style>',
      '<style>/* url(x) */ @namespace url(x); a { content: "url(x)" } b { fill: url(#x) }</style>',
      '<meta name=description content=x>',
      '<p srcset=x src=x data=x poster=x>',
      '<img srcset="data:image/png;base64,aa 1x">',
    ]),
  )('are none in %s', (html) => expect(assets(html)).toEqual([]));

  it('are relative to the base, wherever they stand', () => {
    const html = '<img src=a><p style="x:url(b)"><style>@import "c";</style><base href=/r/>';
    expect(assets(html)).toEqual(['img /r/a', 'style /r/b', 'import /r/c']);
  });

  it('name what a frame shows as a page, too', () => {
    expect(links('<iframe src=x></iframe>')).toEqual(['iframe /docs/x']);
    expect(assets('<iframe src=x></iframe>')).toEqual(['iframe /docs/x']);
  });
});

describe('web manifests', () => {
  const manifest = (content: unknown) =>
    read(typeof content === 'string' ? content : JSON.stringify(content), {
      kind: 'manifest',
      contentType: 'application/json',
    });

  it('name icons, screenshots and where the app starts', () => {
    const facts = manifest({
      start_url: '../?app=1',
      icons: [{ src: 'i.png', sizes: '1x1' }, { src: '/j.png' }],
      screenshots: [{ src: 's.png' }],
      shortcuts: [{ name: 'n', url: '/n', icons: [{ src: 'k.png' }] }],
    });
    expect(facts.links).toEqual([{ url: 'https://example.com/?app=1', relation: 'start_url' }]);
    expect(facts.assets.map(({ url, relation }) => `${relation} ${url.slice('https://example.com'.length)}`)).toEqual([
      'icon /docs/i.png',
      'icon /j.png',
      'icon /docs/k.png',
      'screenshot /docs/s.png',
    ]);
  });

  it('leave out what is not as it should be', () => {
    const facts = manifest({
      start_url: 7,
      icons: [null, { src: 1 }, { src: 'a' }],
      screenshots: 'x',
      shortcuts: [{}],
    });
    expect([facts.links, facts.assets.length, facts.faults]).toEqual([[], 1, []]);
  });

  it.each(['', '{', '[]', '"x"', 'null', '<html>'])('%j is none', (text) => {
    expect(manifest(text)).toMatchObject({ links: [], assets: [], faults: ['content'] });
  });

  it('may begin with a byte order mark', () => {
    expect(manifest('\ufeff{"start_url":"/a"}').links).toHaveLength(1);
  });
});
