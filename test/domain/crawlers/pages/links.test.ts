import { describe, expect, it } from 'vitest';
import { links, read } from './reading.ts';

describe('page links', () => {
  it.each([
    ['<a href=x>', ['a /docs/x']],
    ['<A HREF="/X">', ['a /X']],
    ["<a href='x&amp;y=1'>", ['a /docs/x&y=1']],
    ['<a href=" x ">', ['a /docs/x']],
    ['<a name=x>', []],
    ['<a href="">', []],
    ['<a href="#top"><a href="x#top"><a href="x#end">', ['a /docs/x']],
    ['<area href=x>', ['area /docs/x']],
    ['<iframe src=x></iframe><a href=y>', ['iframe /docs/x', 'a /docs/y']],
    ['<frameset><frame src=x></frameset>', ['frame /docs/x']],
    ['<link rel=next href=x><link rel=prev href=y>', ['next /docs/x', 'prev /docs/y']],
    ['<link rel="ALTERNATE" hreflang=de href=/de>', ['alternate /de']],
    ['<link rel="alternate stylesheet" href=a.css>', []],
    ['<link rel=dns-prefetch href=//x.test><link href=x>', []],
    ['<link rel=canonical href=/c>', ['canonical /c']],
    ['<form action=x></form>', ['form /docs/x']],
    ['<form action="x?a=1#b" method=GET><button>go</button></form>', ['form /docs/x']],
    ['<form action=x method=post></form><form action=y method=dialog></form>', []],
    ['<form action=x><input name=q></form><form action=y><select name=q></select></form>', []],
    ['<form action=x><input type=submit></form>', ['form /docs/x']],
    ['<form></form><form action=x>', ['form /docs/x']],
    ['<svg><a xlink:href=x></a><a href=y></a></svg>', ['a /docs/x', 'a /docs/y']],
    ['<template><a href=x></template><noscript><a href=y></noscript>', ['a /docs/x', 'a /docs/y']],
    ['<iframe srcdoc="<a href=x><iframe srcdoc=\'<a href=y>\'></iframe>"></iframe>', ['a /docs/x', 'a /docs/y']],
    ['<a href=x href=y>', ['a /docs/x']],
    ['<!-- <a href=x> --><script>"<a href=y>"</script><title><a href=z></title>', []],
    ['<textarea><a href=x></textarea><a href=y>', ['a /docs/y']],
    ['<a href=mailto:a@b.test><a href=javascript:x()><a href=data:,x><a href=blob:https://a/b><a href=ftp://x/y>', []],
    ['<a href=x', []],
    ['<a href=x>text<a href=y><p><a href=z></div>', ['a /docs/x', 'a /docs/y', 'a /docs/z']],
    ['<a href=x><!-- <a href=y>', ['a /docs/x']],
    ['<a href="x>y"><b><a href=\'"z"\'>', ['a /docs/x%3Ey', 'a /docs/%22z%22']],
    ['<a\u0000 href=x><a href="y\u0000z">', ['a /docs/y%EF%BF%BDz']],
    ['<a href=//other.test/x>', ['a https://other.test/x']],
    ['<a __proto__=x constructor=y href=z>', ['a /docs/z']],
  ])('%j', (html, expected) => expect(links(html)).toEqual(expected));

  it('are the same without a parser of assets', () => {
    const html = '<a href=x><iframe src=y></iframe><link rel=canonical href=z><img src=i>';
    expect(read(html, { parserOn: false }).assets).toEqual([]);
    expect(links(html, { parserOn: false })).toEqual(links(html));
  });

  it('take the scheme of the run, and lose what visitors are tracked by', () => {
    const page = { origin: 'https://example.com', stripParams: ['utm_*'] };
    expect(links('<a href="http://example.com/x?utm_source=a">', page)).toEqual(['a /x']);
  });

  it('are once there, whatever their spelling', () => {
    expect(links('<a href=x><a href=./x><a href="/docs/%78#y"><a href="HTTPS://EXAMPLE.com:443/docs/x">')).toEqual([
      'a /docs/x',
    ]);
  });
});

describe('meta refresh', () => {
  it.each([
    ['0; url=x', ['refresh /docs/x']],
    ['10;URL=x', ['refresh /docs/x']],
    ['11; url=x', []],
    ['5', []],
    ['5;', []],
    ['0, x', ['refresh /docs/x']],
    ['0 url = "x"y', ['refresh /docs/x']],
    ["3.9;url='x y'", ['refresh /docs/x%20y']],
    ['.5; x', ['refresh /docs/x']],
    ['url=x', []],
    ['0; urlx', ['refresh /docs/urlx']],
    ['0;url=', []],
  ])('%j', (content, expected) => {
    expect(links(`<meta http-equiv=Refresh content="${content.replaceAll('"', '&quot;')}">`)).toEqual(expected);
  });
});

describe('the base', () => {
  it.each([
    ['comes first', '<base href=/b/><a href=x>', ['a /b/x']],
    ['comes after', '<a href=x><base href=/b/>', ['a /b/x']],
    ['is the first of two', '<base href=/b/><base href=/c/><a href=x>', ['a /b/x']],
    ['is the first that has an address', '<base target=_top><base href=/c/><a href=x>', ['a /c/x']],
    ['is relative itself', '<base href=../b/><a href=x>', ['a /b/x']],
    ['is foreign', '<base href=//other.test><a href=x>', ['a https://other.test/x']],
    ['is none', '<base href="data:,x"><a href=x>', ['a /docs/x']],
    ['is broken', '<base href="http://["><base href=/c/><a href=x>', ['a /docs/x']],
    ['stands in a template', '<template><base href=/b/></template><a href=x>', ['a /docs/x']],
    ['gives a fragment a page', '<base href=/b/><a href="#x">', ['a /b/']],
    ['counts for what is inside', '<base href=/b/><iframe srcdoc="<a href=x>"></iframe>', ['a /b/x']],
    ['stays inside', '<iframe srcdoc="<base href=/b/><a href=x>"></iframe><a href=x>', ['a /b/x', 'a /docs/x']],
  ])('%s', (_, html, expected) => expect(links(html)).toEqual(expected));
});

describe('directives', () => {
  const robots = (html: string, robotsTag?: string | string[]) => {
    const { noindex, nofollow, noarchive } = read(html, robotsTag === undefined ? {} : { robotsTag }).robots;
    return [noindex && 'noindex', nofollow && 'nofollow', noarchive && 'noarchive'].filter(Boolean).join();
  };
  it.each([
    ['<meta name=robots content="noindex, NOFOLLOW">', 'noindex,nofollow'],
    ['<meta name=ROBOTS content=none>', 'noindex,nofollow'],
    ['<meta name=portico content=nofollow>', 'nofollow'],
    ['<meta name=googlebot content=nofollow>', ''],
    ['<meta name=robots content="index,follow">', ''],
    ['<meta name=robots content=noarchive><meta name=robots content=noindex>', 'noindex,noarchive'],
    ['<iframe srcdoc="<meta name=robots content=none>"></iframe>', ''],
    ['<!--<meta name=robots content=none>-->', ''],
  ])('of %j', (html, expected) => expect(robots(html)).toBe(expected));

  it.each([
    ['noindex, nofollow', 'noindex,nofollow'],
    ['None', 'noindex,nofollow'],
    ['googlebot: nofollow, noindex', ''],
    ['portico: nofollow', 'nofollow'],
    ['googlebot: noindex, portico: nofollow', 'nofollow'],
    ['unavailable_after: 25 Jun 2010 15:00:00 PST, noarchive', 'noarchive'],
    [['noindex', 'otherbot: nofollow'], 'noindex'],
  ])('of the header %j', (tag, expected) => expect(robots('', tag)).toBe(expected));

  it('leave links where they are', () => {
    expect(links('<meta name=robots content=nofollow><a rel=nofollow href=x>')).toEqual(['a /docs/x']);
  });
});

it('finds the first canonical address', () => {
  const { canonical } = read('<link rel=canonical href=a#b><link rel=canonical href=c><base href=/d/>');
  expect(canonical).toBe('https://example.com/d/a');
  expect(read('<link rel=canonical href=javascript:x>').canonical).toBeNull();
  expect(read('<a href=c><link rel="x canonical" href=c>').canonical).toBe('https://example.com/docs/c');
});
