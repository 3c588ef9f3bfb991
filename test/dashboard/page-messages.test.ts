import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MessageGate, type PagePiece } from '../../src/dashboard/in-page/messages.ts';

let now = 0;
beforeEach(() => {
  now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const look = {
  fontFamily: '"Noto Serif", serif',
  fontSize: 18,
  lineHeight: null,
  fontWeight: '400',
  fontStyle: 'normal',
  textAlign: 'start',
  color: 'rgb(10, 60, 20)',
  background: 'color(srgb 1 1 1 / 0.5)',
};
const placed = (style: object = {}) => ({
  type: 'placed',
  id: 1,
  box: { left: 0, top: 0, width: 1, height: 1 },
  look: { ...look, ...style },
});
const piecesOf = (...ids: number[]): PagePiece[] =>
  ids.map((id) => ({ id, selector: 'p', text: 'words', isImage: false }));

/** Whether a page that has been offered a piece may send a message. */
function isTaken(message: unknown): boolean {
  const gate = new MessageGate();
  gate.offer(piecesOf(1));
  return gate.take(message) !== null;
}

describe('a message of a page', () => {
  it.each([
    ['ids', (count: number) => ({ type: 'found', ids: Array(count).fill(1) }), 20_000],
    ['for an id', (id: number) => ({ type: 'clicked', id, left: 0, top: 0, takesKeys: false }), 100_000],
    ['pixels', (top: number) => ({ type: 'scrolled', top }), 1e6],
    ['characters of a font', (length: number) => placed({ fontFamily: 'f'.repeat(length) }), 500],
  ])('has %s up to a limit', (_name, make, limit) => {
    expect(isTaken(make(limit))).toBe(true);
    expect(isTaken(make(limit + 1))).toBe(false);
  });

  it('names a path of up to 8,192 characters', () => {
    const begin = (length: number) => new MessageGate().begin({ portico: 'page', path: '/'.repeat(length) });
    expect(begin(8_192)).toHaveLength(8_192);
    expect(begin(8_193)).toBeNull();
  });

  it.each([
    { color: 'url(https://portico.example/)' },
    { background: 'image-set(url(/x))' },
    { background: 'rgb(0, 0, 0), url(/x)' },
    { color: 'var(--p-accent)' },
    { fontFamily: 'a; position: fixed' },
    { fontFamily: 'url(/x)' },
    { fontWeight: 'var(--x)' },
    { fontSize: Number.NaN },
  ])('has no style that loads or reads anything: %j', (style) => {
    expect(isTaken(placed())).toBe(true);
    expect(isTaken(placed(style))).toBe(false);
  });
});

describe('the gate for messages of a page', () => {
  it('takes one answer about the pieces that were offered, and no other pieces', () => {
    const gate = new MessageGate();
    const found = (...ids: number[]) => gate.take({ type: 'found', ids });
    expect(found(3)).toBeNull();
    gate.offer(piecesOf(3, 5));
    expect(found(3, 4, 5)).toEqual({ type: 'found', ids: [3, 5] });
    expect(found(3)).toBeNull();
    gate.offer(piecesOf(3));
    expect(gate.begin({ portico: 'page', path: '/other' })).toBe('/other');
    expect(found(3)).toBeNull();
  });

  it('takes 20 messages at once, and 20 in a second after that, those that a page begins with among them', () => {
    const gate = new MessageGate();
    const taken = (count: number) =>
      Array.from({ length: count }, (_, top) => gate.take({ type: 'scrolled', top })).filter(Boolean).length;
    expect(gate.begin({ portico: 'page', path: '/' })).toBe('/');
    expect(taken(30)).toBe(19);
    expect(gate.begin({ portico: 'page', path: '/' })).toBeNull();
    now += 500;
    expect(taken(30)).toBe(10);
    now += 60_000;
    expect(taken(30)).toBe(20);
  });
});
