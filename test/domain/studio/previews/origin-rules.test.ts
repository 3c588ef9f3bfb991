import { describe, expect, it } from 'vitest';
import { isTrustworthy, originProblem, previewHost } from '../../../../src/domain/studio/previews/preview-origin.ts';
import { environmentLabel, parseLabel } from '../../../../src/domain/studio/previews/previews.ts';
import { ConfigError, previewUrlFor, readConfig } from '../../../../src/server/config.ts';

describe('an API and its previews', () => {
  it.each([
    ['http://localhost:4280', 'http://*.localhost:4281'],
    ['http://portico.localhost:4280', 'http://*.previews.localhost:4281'],
    ['http://127.0.0.1:4280', 'http://*.localhost:4281'],
    ['https://cms.example.com', 'https://*.preview.example.com'],
    ['https://cms.example.com', 'https://*.example-previews.com'],
    ['http://cms.example.com', 'http://*.example-previews.com'],
    ['http://cms', 'http://*.previews'],
  ])('at %s and %s keep apart', (ours, theirs) => {
    expect(originProblem(ours, theirs)).toBeNull();
  });

  it.each([
    ['http://cms.localhost:4280', 'http://*.localhost:4281', 'is itself a preview host'],
    ['https://cms.preview.example.com', 'https://*.preview.example.com', 'is itself a preview host'],
    ['https://cms.example.com', 'https://*.example.com', 'is itself a preview host'],
    ['http://cms.example.com', 'http://*.preview.example.com', 'set cookies'],
    ['https://cms.example.com', 'http://*.preview.example.com', 'set cookies'],
    ['http://cms.example.com', 'https://*.preview.example.com', 'set cookies'],
    ['http://example.com', 'http://*.example.com', 'set cookies'],
    ['http://intranet', 'http://*.previews.intranet', 'set cookies'],
  ])('at %s and %s do not', (ours, theirs, problem) => {
    expect(originProblem(ours, theirs)).toContain(problem);
  });

  it('are refused at the start, by name', () => {
    const environment = { PORTICO_PUBLIC_URL: 'https://cms.example.com', PORTICO_PREVIEW_URL: 'https://*.example.com' };
    expect(() => readConfig(environment)).toThrow(ConfigError);
    expect(() => readConfig(environment)).toThrow(/^PORTICO_PREVIEW_URL: cms\.example\.com is itself a preview host/);
    const host = { PORTICO_PUBLIC_URL: 'http://cms.example.com', PORTICO_PREVIEW_HOST: 'preview.example.com' };
    expect(() => readConfig(host)).toThrow(/^PORTICO_PREVIEW_HOST: /);
    expect(readConfig({ ...host, PORTICO_PREVIEW_HOST: 'previews.test' }).warnings).toEqual([]);
  });

  it.each(['https://preview.example.com', 'https://*.example.com/path', '*.example.com', 'https://a.*.example.com'])(
    'PORTICO_PREVIEW_URL=%s is no form of addresses',
    (form) => {
      expect(() => readConfig({ PORTICO_PREVIEW_URL: form })).toThrow('must be of the form');
    },
  );

  it.each(['http://localhost', 'localhost:4281', 'a..b', ''].filter(Boolean))(
    'PORTICO_PREVIEW_HOST=%s is no host',
    (host) => {
      expect(() => readConfig({ PORTICO_PREVIEW_HOST: host })).toThrow('must be a host name');
    },
  );
});

describe('the form of addresses', () => {
  it.each([
    [{}, 'http://*.localhost:4281', 'localhost', true],
    [
      { PORTICO_PREVIEW_HOST: 'Previews.Test', PORTICO_PREVIEW_PORT: '80' },
      'http://*.previews.test',
      'previews.test',
      false,
    ],
    [{ PORTICO_PREVIEW_URL: 'https://*.p.example.com' }, 'https://*.p.example.com', 'p.example.com', true],
    [{ PORTICO_PREVIEW_HOST: 'p.localhost' }, 'http://*.p.localhost:4281', 'p.localhost', true],
  ])('of %j is %s', (environment, form, host, trustworthy) => {
    const { config } = readConfig(environment as Record<string, string>);
    expect(previewUrlFor(config)).toBe(form);
    expect(previewHost(form)).toBe(host);
    expect(isTrustworthy(form)).toBe(trustworthy);
  });
});

it('labels of environments made in the same minute differ, and are read back', () => {
  const [one, two] = ['0192f0c4-1111-7abc-8def-0123456789ab', '0192f0c4-2222-7abc-8def-ba9876543210'];
  expect(environmentLabel({ slug: 'main', uuid: one })).not.toBe(environmentLabel({ slug: 'main', uuid: two }));
  expect(parseLabel(environmentLabel({ slug: 'my-branch', uuid: one }))).toEqual({
    slug: 'my-branch',
    uuid_end: '456789ab',
  });
  expect(parseLabel('c--12')).toEqual({ crawler_id: 12 });
  expect(parseLabel('s--12')).toEqual({ snapshot_id: 12 });
  for (const odd of ['', 'main', '-12345678', 'MAIN-12345678', 'main-1234567g', 'd--', 'd--x', 'e--12', 'd--01'])
    expect(parseLabel(odd)).toBeNull();
});
