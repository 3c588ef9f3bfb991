import { expect, test } from 'vitest';
import { fieldLabel } from '../../src/lib/field-label.ts';

const schema = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    author: { type: 'object', title: 'Author', properties: { name: { type: 'string', title: 'Name' } } },
    links: {
      type: 'array',
      title: 'Links',
      items: { type: 'object', properties: { url: { type: 'string', title: 'URL' } } },
    },
    blocks: {
      type: 'array',
      items: {
        anyOf: [{ properties: { quote: { title: 'Quotation' } } }, { properties: { image: { title: 'Picture' } } }],
      },
    },
    years: { type: 'object', title: 'Years', properties: { 2024: { title: 'This year' } } },
  },
};

test.each([
  ['/title', 'Title'],
  ['/author/name', 'Author › Name'],
  ['/links/1/url', 'Links 2 › URL'],
  ['/links/0', 'Links 1'],
  ['/blocks/2/image', 'Blocks 3 › Picture'],
  ['/years/2024', 'Years › This year'],
  ['/years/2023', 'Years 2024'],
  ['/cover_alt', 'Cover alt'],
  ['/author/birthPlace/city', 'Author › Birth place › City'],
  ['/__proto__/x', 'Proto › X'],
  ['/-', '-'],
  ['', ''],
])('names the field at %j as %j', (pointer, label) => {
  expect(fieldLabel(schema, pointer)).toBe(label);
});

test('names fields without a schema in words', () => {
  expect(fieldLabel(null, '/seo/meta_title')).toBe('Seo › Meta title');
  expect(fieldLabel('nothing', '/tags/0')).toBe('Tags 1');
});

test('shows what is no pointer in words', () => {
  expect(fieldLabel(schema, 'read_time')).toBe('Read time');
});
