import { expect, test } from 'vitest';
import { Screen } from '../../src/cli/screen.ts';

function sink(isTTY: boolean) {
  const written: string[] = [];
  return { written, isTTY, columns: 30, write: (text: string) => written.push(text) };
}

test('on a terminal one line is rewritten, cut to its width, and gone before the result', () => {
  const [out, err] = [sink(true), sink(true)];
  const screen = new Screen(out, err);
  screen.progress('Receiving objects', '1/100');
  screen.progress('Receiving objects', '2/100');
  screen.progress('Checking a thing with a very long name');
  screen.print('Done');
  screen.print('Really');
  const erase = '\r\u001b[2K';
  expect(err.written).toEqual([`${erase}Receiving objects: 1/100`, `${erase}Checking a thing with a very `, erase]);
  expect(out.written).toEqual(['Done\n', 'Really\n']);
});

test('elsewhere there is a line at the begin and the end of each phase, and no control character', () => {
  const [out, err] = [sink(false), sink(false)];
  const screen = new Screen(out, err);
  screen.progress('Receiving objects', '1/100');
  for (let count = 2; count <= 100; count++) screen.progress('Receiving objects', `${count}/100`);
  screen.progress('Checking files');
  screen.note('Cancelled');
  expect(out.written).toEqual(['Receiving objects: 1/100\n', 'Receiving objects: 100/100\n', 'Checking files\n']);
  expect(err.written).toEqual(['Cancelled\n']);
});
