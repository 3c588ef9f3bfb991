import { expect, it } from 'vitest';
import { parseSrcset } from '../../../../src/domain/crawlers/pages/read-page.ts';
import fc from '../../../support/properties.ts';

it.each([
  ['a', ['a']],
  ['a 1x, b 2x', ['a', 'b']],
  ['a 100w,b 200w', ['a', 'b']],
  ['a,b', ['a,b']],
  ['a, b', ['a', 'b']],
  ['a,,b 1x', ['a,,b']],
  ['a,, b', ['a', 'b']],
  [' , ,a 1x , ,b', ['a', 'b']],
  ['data:image/png;base64,AA== 1x, b 2x', ['data:image/png;base64,AA==', 'b']],
  ['a x(1,2) 1x, b', ['a', 'b']],
  ['a (1, b', ['a']],
  ['/w=1,h=2/a.jpg 1x,\n\t/w=2,h=4/a.jpg 2x', ['/w=1,h=2/a.jpg', '/w=2,h=4/a.jpg']],
  ['', []],
  [' ,, ', []],
])('%j', (text, urls) => expect(parseSrcset(text)).toEqual(urls));

it('gives back what it is made of', () => {
  const url = fc
    .string({ unit: fc.constantFrom('a', '/', ',', '(', ')', '=', 'é'), minLength: 1 })
    .filter((text) => !/^,|,$/.test(text));
  const descriptor = fc.constantFrom(' 1x', ' 100w', ' 1x 2h', ' f(a, b)');
  fc.assert(
    fc.property(fc.array(fc.tuple(url, descriptor)), fc.constantFrom(',', ', ', ' ,\n'), (candidates, comma) => {
      const text = candidates.map(([address, size]) => address + size).join(comma);
      expect(parseSrcset(text)).toEqual(candidates.map(([address]) => address));
    }),
  );
});
