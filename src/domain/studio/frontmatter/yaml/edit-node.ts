import { isMap, isScalar, isSeq } from 'yaml';
import { deepEqual, isRecord } from '../values.ts';
import { editList } from './edit-list.ts';
import { editMap } from './edit-map.ts';
import { editScalar } from './edit-scalar.ts';
import { checkEditable, type Editing, type Place } from './editing.ts';
import { isEmpty } from './layout.ts';
import { replaceWhole } from './replace.ts';

/** Makes the splices that turn the value at `place` from `old` into `wanted`. */
export function editNode(edit: Editing, place: Place, old: unknown, wanted: unknown, pointer: string): void {
  if (deepEqual(old, wanted)) return;
  const { node } = place.entry;
  checkEditable(node, pointer, edit.aliased);
  if (edit.coarse.has(pointer)) {
    replaceWhole(edit, place, wanted, pointer);
  } else if (isMap(node) && isRecord(old) && isRecord(wanted)) {
    editMap(edit, place, node, old, wanted, pointer);
  } else if (isSeq(node) && Array.isArray(old) && Array.isArray(wanted)) {
    editList(edit, place, node, old, wanted, pointer);
  } else if (isScalar(node) && !isEmpty(node) && (typeof wanted !== 'object' || wanted === null)) {
    edit.touched.add(pointer);
    editScalar(edit, place, node, wanted, pointer);
  } else {
    replaceWhole(edit, place, wanted, pointer);
  }
}
