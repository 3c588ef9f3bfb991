/** Numbers as people type them. What no number holds exactly is refused, so that none is changed by being typed. */
import { localeOf } from './typed-date.ts';

export type NumberFault = 'number_fault' | 'whole_number_fault' | 'number_digits';

const form = /^([-+−]?)(\d*)(?:[.](\d*))?(?:e([-+]?\d{1,4}))?$/i;

/** Digits without zeros at either end, and the power of ten of the last one: equal for texts of the same number. */
function exact([, , whole = '', part = '', power = '0']: RegExpExecArray): string {
  const digits = (whole + part).replace(/^0+/, '');
  const significant = digits.replace(/(?<!0)0+$/, '');
  if (significant === '') return '0';
  return `${significant}e${Number(power) - part.length + digits.length - significant.length}`;
}

/** @returns undefined for no text, and why a text is no number */
export function readNumber(
  text: string,
  { isWhole, language }: { isWhole: boolean; language: string },
): { value: number | undefined } | { fault: NumberFault } {
  const typed = text.trim();
  if (typed === '') return { value: undefined };
  const comma = Intl.NumberFormat(localeOf(language)).format(0.5).includes(',');
  const match = form.exec(comma && !typed.includes('.') ? typed.replace(',', '.') : typed);
  if (!match || (!match[2] && !match[3])) return { fault: isWhole ? 'whole_number_fault' : 'number_fault' };
  const value = Number(match[0].replace('−', '-'));
  const written = form.exec(String(value));
  if (!written || exact(written) !== exact(match)) return { fault: 'number_digits' };
  if (!isWhole) return { value };
  if (!Number.isInteger(value)) return { fault: 'whole_number_fault' };
  return Number.isSafeInteger(value) ? { value } : { fault: 'number_digits' };
}
