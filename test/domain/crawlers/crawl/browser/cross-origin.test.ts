import { expect, it } from 'vitest';
import { agrees, isReadable, onward, preflightOf } from '../../../../../src/domain/crawlers/crawl/cross-origin.ts';

const from = 'http://site.test';
const other = 'http://other.test/x';
const of = (method: string, headers: Record<string, string> = {}) => ({ from, method, headers });

it.each([
  of('GET', { accept: '*/*', referer: from, 'user-agent': 'B', 'sec-ch-ua': 'B', origin: from }),
  of('POST', { 'content-type': 'text/plain;charset=UTF-8', origin: from }),
  of('POST', { 'content-type': 'multipart/form-data; boundary=x' }),
])('asks no other origin about what any page may send: %j', (request) => {
  expect(preflightOf(request, other)).toBeNull();
});

it('sends a preflight for other methods, headers and types, and none to its own origin', () => {
  expect(preflightOf(of('PUT'), other)).toEqual({
    accept: '*/*',
    origin: from,
    'access-control-request-method': 'PUT',
  });
  expect(preflightOf(of('POST', { 'x-own': '1', 'content-type': 'application/json' }), other)).toMatchObject({
    'access-control-request-headers': 'content-type,x-own',
  });
  expect(preflightOf(of('GET', { authorization: 'x' }), other)).toMatchObject({
    'access-control-request-headers': 'authorization',
  });
  expect(preflightOf({ ...of('DELETE'), from: null }, `${from}/`)).toMatchObject({ origin: 'null' });
  expect(preflightOf(of('DELETE', { 'x-own': '1' }), `${from}/`)).toBeNull();
});

const said = (headers: Record<string, string | string[]>, status = 204) => ({
  status,
  headers: { 'access-control-allow-origin': from, ...headers },
});

it.each([
  [of('POST', { 'x-own': '1' }), said({ 'access-control-allow-headers': 'X-Other, X-Own' }), true],
  [of('POST', { 'x-own': '1' }), said({ 'access-control-allow-headers': ['x-other', 'x-own'] }), true],
  [of('POST', { 'x-own': '1' }), said({ 'access-control-allow-headers': '*' }), true],
  [of('POST', { authorization: '1' }), said({ 'access-control-allow-headers': '*' }), false],
  [of('POST', { 'x-own': '1' }), said({}), false],
  [of('PUT'), said({ 'access-control-allow-methods': 'GET, PUT' }), true],
  [of('PUT'), said({ 'access-control-allow-methods': 'get, put' }), false],
  [of('PUT'), said({ 'access-control-allow-methods': '*' }), true],
  [of('PUT'), said({ 'access-control-allow-methods': 'PUT' }, 403), false],
  [of('PUT'), said({ 'access-control-allow-methods': 'PUT', 'access-control-allow-origin': other }), false],
])('%j is agreed to by %j: %s', (request, answer, expected) => {
  expect(agrees(request, answer)).toBe(expected);
});

it('lets an opaque origin read what names it, or everyone', () => {
  expect(isReadable({ from: null }, { 'access-control-allow-origin': 'null' })).toBe(true);
  expect(isReadable({ from: null }, { 'access-control-allow-origin': '*' })).toBe(true);
  expect(isReadable({ from: null }, { 'access-control-allow-origin': from })).toBe(false);
  expect(isReadable({ from }, {})).toBe(false);
});

it('writes where a frame goes on to as text', () => {
  const { body } = onward('http://a.test/?x="><script>&y');
  expect(Buffer.from(body).toString()).toContain('url=http://a.test/?x=&quot;&gt;&lt;script&gt;&amp;y">');
});
