import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { isServable, type ManifestEntry, makeManifest } from '../../../../src/domain/studio/deployments/manifest.ts';
import {
  type Found,
  lookUp,
  type Output,
  Outputs,
  parseRedirects,
} from '../../../../src/domain/studio/previews/outputs.ts';
import fc from '../../../support/properties.ts';

const sha256 = 'a'.repeat(64);

function outputOf(paths: readonly string[], redirects = ''): Output {
  const { rules } = parseRedirects(redirects);
  const entries = makeManifest(paths.map((path) => ({ path, sha256, size: 1 })));
  return {
    files: new Map(entries.map((entry): [string, ManifestEntry] => [entry[0], entry])),
    forced: rules.filter(({ isForced }) => isForced),
    redirects: rules.filter(({ isForced }) => !isForced),
  };
}

/** What was found, in few words: a path, `404 <path>`, `<status> → <location>`, or `nothing`. */
function inWords(found: Found): string {
  if (found.kind === 'nothing') return 'nothing';
  if (found.kind === 'redirect') return `${found.status} → ${found.location}`;
  return found.status === 200 ? found.entry[0] : `${found.status} ${found.entry[0]}`;
}
const find = (output: Output, target: string, previous?: Output) =>
  inWords(lookUp(output, target, { ...(previous && { previous }) }));

describe('outputs in memory', () => {
  it('are weighed by the lengths of their paths', async () => {
    let reads = 0;
    const read = (sha256: string) => {
      reads += 1;
      const paths = Array.from({ length: 4 }, (_, at) => `${sha256[0]}${at}${'x'.repeat(2_560)}`);
      return Readable.from([
        Buffer.from(JSON.stringify(makeManifest(paths.map((path) => ({ path, sha256, size: 1 }))))),
      ]);
    };
    const outputs = new Outputs({ read } as never, 50);
    await outputs.get('a'.repeat(64));
    await outputs.get('a'.repeat(64));
    expect(reads).toBe(1);
    await outputs.get('b'.repeat(64));
    await outputs.get('a'.repeat(64));
    expect(reads).toBe(3);
  });
});

describe('a lookup', () => {
  it('makes values of the placeholders of the one rule that is taken', () => {
    const encode = vi.spyOn(globalThis, 'encodeURIComponent');
    onTestFinished(() => encode.mockRestore());
    const names = '/:a'.repeat(50);
    const rules = Array.from({ length: 100 }, (_, at) => `${names}/no-${at} /:a`);
    const output = outputOf(['index.html'], [...rules, `${names}/z /:a`].join('\n'));
    encode.mockClear();
    expect(find(output, `${'/x'.repeat(50)}/z`)).toBe('301 → /x');
    expect(encode.mock.calls.length).toBeLessThan(100);
  });

  it('finds nothing but what the manifest names, whatever is requested, and redirects to no other site', () => {
    const segment = fc.oneof(
      fc.constantFrom(
        'a',
        'b',
        'index.html',
        '404.html',
        '..',
        '.',
        '',
        '%2e%2e',
        '%2E.',
        '%00',
        '%5c',
        '%2f',
        'ä',
        '%C3%A4',
        ':x',
        '*',
      ),
      fc.string({ unit: 'binary', maxLength: 6 }),
    );
    const target = fc.tuple(
      fc.constantFrom('/', '', '//', 'http://evil.test/', '/\\'),
      fc.array(segment, { maxLength: 6 }),
    );
    const path = fc.array(fc.constantFrom('a', 'b', 'c.html', 'index.html', 'ä'), { minLength: 1, maxLength: 4 });
    const paths = fc.uniqueArray(
      path.map((segments) => segments.join('/')),
      { maxLength: 10 },
    );
    const base = fc.constantFrom('', '/a', '/a/b', '/ä', '//evil.test', '/\\evil.test', 'a');
    const to = fc.constantFrom('/:splat', '/:x/:splat', '/:splat/:x', '/a/:splat', '/../../etc/passwd', '/b');
    const rules = fc.array(
      fc.tuple(
        fc.constantFrom('/*', '/a/*', '/:x/*', '/:x', '/'),
        to,
        fc.constantFrom('200', '200!', '301', '404', ''),
      ),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(target, paths, rules, base, ([start, segments], names, lines, base) => {
        const output = outputOf(names, lines.map((words) => words.join(' ')).join('\n'));
        const found = lookUp(output, start + segments.join('/'), { base });
        if (found.kind === 'file') expect(output.files.get(found.entry[0])).toBe(found.entry);
        if (found.kind === 'redirect') {
          expect(found.location).toMatch(/^\/(?![/\\])[!-~]*$/);
          expect(new URL(found.location, 'http://here.test').host).toBe('here.test');
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('finds every file of an output under its own name, percent-encoded', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
    const path = fc
      .array(name, { minLength: 1, maxLength: 4 })
      .map((segments) => segments.join('/'))
      .filter(isServable);
    fc.assert(
      fc.property(fc.uniqueArray(path, { minLength: 1, maxLength: 10 }), (paths) => {
        const output = outputOf(paths);
        for (const each of paths)
          expect(find(output, `/${each.split('/').map(encodeURIComponent).join('/')}`)).toBe(each);
      }),
    );
  });

  it('takes the file before the page, and the page before the directory', () => {
    const all = ['a', 'a.html', 'a/index.html'];
    expect(find(outputOf(all.slice(1)), '/a')).toBe('a.html');
    expect(find(outputOf(all.slice(2)), '/a')).toBe('308 → /a/');
    expect(find(outputOf(all.slice(1)), '/a/')).toBe('a/index.html');
    expect(find(outputOf(all.slice(1, 2)), '/a/')).toBe('nothing');
  });
});

describe('a base that the pages take the site to lie below', () => {
  const output = outputOf(['index.html', '404.html', 'a/index.html', 'docs/own.html', 'ä.css', 'app.html'], '/go /app');
  const at = (target: string, base = '/docs') =>
    inWords(lookUp(output, target, { base, previous: outputOf(['old.js']) }));

  it.each([
    ['/', '308 → /docs/'],
    ['/docs', '308 → /docs/'],
    ['/docs?a=b', '308 → /docs/?a=b'],
    ['/docs/', 'index.html'],
    ['/docs/a/', 'a/index.html'],
    ['/docs/a', '308 → /docs/a/'],
    ['/docs/app', 'app.html'],
    ['/docs/%C3%A4.css', 'ä.css'],
    // What is there under the name itself comes first.
    ['/docs/own', 'docs/own.html'],
    ['/a/', 'a/index.html'],
    ['/docs/old.js', 'old.js'],
    ['/go', '301 → /app'],
    ['/docs/nowhere', '404 404.html'],
    ['/docsy/a/', '404 404.html'],
  ])('%s gives %s', (target, expected) => expect(at(target)).toBe(expected));

  it('may have several segments, and characters that an address encodes', () => {
    expect(at('/', '/ä/b')).toBe('308 → /%C3%A4/b/');
    expect(at('/%C3%A4/b/a/', '/ä/b')).toBe('a/index.html');
  });
});

describe('assets of the output before', () => {
  const before = outputOf(['assets/old-1.js', 'assets/both.js', 'old.html', 'index.html', '404.html']);
  const now = outputOf(['index.html', 'assets/both.js'], '/* /index.html 200');

  it('are still found, even where a redirect takes everything', () => {
    expect(find(now, '/assets/old-1.js', before)).toBe('assets/old-1.js');
    expect(find(now, '/assets/both.js', before)).toBe('assets/both.js');
    expect(find(now, '/assets/old-1.js')).toBe('index.html');
  });
  it('are not pages', () => {
    expect(find(now, '/old', before)).toBe('index.html');
    expect(find(now, '/old.html', before)).toBe('index.html');
    expect(find(outputOf(['a.txt']), '/nowhere', before)).toBe('nothing');
  });
});

describe('_redirects', () => {
  it('lead nowhere where their placeholders make too much of them, of which nothing is encoded', () => {
    const rules = [
      `/x/* /${':splat'.repeat(1_000)} 302`,
      `/y/* /${':splat'.repeat(1_000)} 200`,
      `/z/* /to/:splat`,
      `/ü /${'ü'.repeat(1_000)}`,
      `/w /${'ü'.repeat(2_000)}`,
    ];
    const output = outputOf(['index.html'], rules.join('\n'));
    const encode = vi.spyOn(globalThis, 'encodeURIComponent');
    onTestFinished(() => encode.mockRestore());
    expect(find(output, '/x/1234567')).toMatch(/^302 → \/(?:1234567){1000}$/);
    expect(find(output, '/x/123456789')).toBe('nothing');
    expect(find(output, '/y/123456789')).toBe('nothing');
    expect(find(output, `/z/a?${'b'.repeat(8_000)}`)).toMatch(/^301 → \/to\/a\?b{8000}$/);
    expect(find(output, `/z/a?${'ü'.repeat(8_200)}`)).toBe('nothing');
    for (const [text] of encode.mock.calls) expect(String(text).length).toBeLessThanOrEqual(9);
    expect(find(output, '/%C3%BC')).toBe(`301 → /${'%C3%BC'.repeat(1_000)}`);
    expect(find(output, '/w')).toBe('nothing');
  });

  it('are refused with a target that is too long as it is written', () => {
    const { rules, faults } = parseRedirects(`/a /${'b'.repeat(8_192)}`);
    expect(rules).toEqual([]);
    expect(faults).toEqual([{ line: 1, problem: 'where it leads must have at most 8192 characters' }]);
  });

  const output = (rules: string) =>
    outputOf(['index.html', 'blog/new/index.html', 'app.html', 'lost.html', '404.html'], rules);

  it.each([
    ['/old /blog/new/', '/old', '301 → /blog/new/'],
    ['/old /blog/new/', '/old/', '301 → /blog/new/'],
    ['/old /new 302', '/old', '302 → /new'],
    ['/old /new 307 # moved', '/old', '307 → /new'],
    ['/old https://example.com/x', '/old', '301 → https://example.com/x'],
    ['/blog/* /posts/:splat', '/blog/a/b%20c', '301 → /posts/a/b%20c'],
    ['/blog/* /posts/:splat', '/blog', '301 → /posts/'],
    ['/:year/:slug /posts/:slug/:year 308', '/2026/hello', '308 → /posts/hello/2026'],
    ['/:year/:slug /x', '/2026', '404 404.html'],
    ['/old /new', '/old?a=b', '301 → /new?a=b'],
    ['/old /new?x=1', '/old?a=b', '301 → /new?x=1'],
    ['/caf%C3%A9 /tee', '/caf%c3%a9', '301 → /tee'],
    ['/tee /café', '/tee', '301 → /caf%C3%A9'],
    ['/* /:splat/x 301!', '/', '301 → /x'],
    ['/go/:site/* /:splat/:site', '/go/evil.test/', '301 → /evil.test'],
    ['/app/* /app.html 200', '/app/settings', 'app.html'],
    ['/app/* /app 200', '/app/settings', 'app.html'],
    ['/app/* /nowhere.html 200', '/app/settings', '404 404.html'],
    ['/en/* /lost.html 404', '/en/x', '404 lost.html'],
    ['/* /app.html 200', '/', 'index.html'],
    ['/* /app.html 200!', '/', 'app.html'],
    ['/ /blog/new/ 302!', '/', '302 → /blog/new/'],
    ['/old /first\n/old /second', '/old', '301 → /first'],
    ['/* /same\n/same /same', '/same', '404 404.html'],
    ['/a /new\r\n\r\n# c\r\n/b /newer', '/b', '301 → /newer'],
  ])('%j: %s gives %s', (rules, target, expected) => {
    expect(find(output(rules), target)).toBe(expected);
  });

  it.each([
    ['/old', 'where it leads'],
    ['old /new', 'must start with a path'],
    ['/a*b /new', '*'],
    ['/*/b /new', '*'],
    ['/a?x=:y /new', 'query'],
    ['/%ff /new', 'UTF-8'],
    ['/old //evil.test', 'path or an http'],
    ['/old /\\evil.test', 'backslash'],
    ['/old ftp://x.test', 'path or an http'],
    ['/old https:// 301', 'path or an http'],
    ['/old https://x.test/ 200', 'same output'],
    ['/old /new 418', 'one of 200'],
    ['/old /new 301 Country=de', 'conditions'],
    ['/old id=:id /new', 'conditions'],
  ])('%s is left out, and said why', (line, problem) => {
    const { rules, faults } = parseRedirects(`/fine /new\n${line}`);
    expect(rules).toHaveLength(1);
    expect(faults).toEqual([{ line: 2, problem: expect.stringContaining(problem) }]);
  });

  it('counts 2,000 rules and no more', () => {
    const lines = Array.from({ length: 2001 }, (_, index) => `/r${index} /x`);
    expect(parseRedirects(lines.slice(0, 2000).join('\n'))).toMatchObject({ faults: [] });
    const { rules, faults } = parseRedirects(lines.join('\n'));
    expect(rules).toHaveLength(2000);
    expect(faults).toEqual([{ line: 2001, problem: expect.stringContaining('2000') }]);
  });
});
