import { expect, test } from 'vitest';
import { fieldsOf, summaryOf } from '../../src/dashboard/fields/field.ts';

const portico = (editor: object) => ({ 'x-portico': { editor } });
const place = { type: 'object', properties: { city: { type: 'string' }, at: { type: 'object', properties: {} } } };

function fieldWith(schema: object) {
  const [field] = fieldsOf({ properties: { place: schema } });
  if (!field) throw new Error('The schema has one field');
  return field;
}

test('reads how the CMS of the site shows a field', () => {
  const field = fieldWith({ ...place, ...portico({ collapsed: true, summary: '{{city}}', read_only: true }) });
  expect(field).toMatchObject({ isCollapsed: true, isMinimized: false, isReadOnly: true, summary: '{{city}}' });
  const list = fieldWith({
    items: place,
    ...portico({ collapsed: true, minimized: true, item_label: 'stop', option_labels: [{ value: 1, label: 'One' }] }),
  });
  expect(list).toMatchObject({ isCollapsed: true, isMinimized: true, itemLabel: 'stop' });
  expect(list.optionLabels.get(1)).toBe('One');
  // What is said beside a list holds for its items.
  expect(list.item).toMatchObject({ isCollapsed: true });
});

test('shows nothing special where a schema says nothing, or nonsense', () => {
  for (const schema of [place, { ...place, ...portico({ collapsed: 'yes', widget: 'video', option_labels: 'x' }) }])
    expect(fieldWith(schema)).toMatchObject({ isCollapsed: false, isReadOnly: false, widget: undefined });
});

test.each([
  ['{{city}}', { city: 'Ghent' }, 'Ghent'],
  ['{{fields.city}}, {{at.street}}', { city: 'Ghent', at: { street: 'Kalandeberg' } }, 'Ghent, Kalandeberg'],
  ['{{city | upper}}', { city: 'Ghent' }, 'Ghent'],
  ['{{constructor}}{{city}}', { city: 4 }, '4'],
  ['{{city}}', null, ''],
  [undefined, { at: {}, city: 'Ghent' }, 'Ghent'],
  [undefined, undefined, ''],
  [undefined, { city: 'x'.repeat(101) }, 'x'.repeat(100)],
])('sums up by %j what is closed', (summary, value, shown) => {
  expect(summaryOf(fieldWith({ ...place, ...portico({ summary }) }), value)).toBe(shown);
});
