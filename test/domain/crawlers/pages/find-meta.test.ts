import { expect, it } from 'vitest';
import { findMeta } from '../../../../src/domain/crawlers/pages/find-meta.ts';

it.each([
  ['<meta name=portico content=a>', ['a']],
  ['<!doctype html><html><head><title>x <b></title><META NAME="Portico" CONTENT="a&amp;b"></head>', ['a&b']],
  ['<head><meta name=portico content=a><meta name=portico content=b>', ['a', 'b']],
  ['<meta name=" portico " content=" a "><meta name=portico>', ['a', '']],
  ['<head></head><meta name=portico content=a>', []],
  ['<head><body><meta name=portico content=a>', []],
  ['<p>hello<meta name=portico content=a>', []],
  ['hello<meta name=portico content=a>', []],
  ['<!-- <meta name=portico content=a> -->', []],
  ['<template><meta name=portico content=a></template>', []],
  ['<noscript><meta name=portico content=a></noscript><meta name=portico content=b>', ['b']],
  ['<title><meta name=portico content=a></title>', []],
  ['<script>"<meta name=portico content=a>"</script><style>x</style><meta name=portico content=b>', ['b']],
  ['<meta name=portico-x content=a><meta property=portico content=b>', []],
])('%j', (html, contents) => expect(findMeta(html, 'portico')).toEqual(contents));
