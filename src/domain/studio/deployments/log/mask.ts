import { anyOf } from '../../../text-pattern.ts';
import { writtenForms } from '../../../written-forms.ts';

/** Shorter values would mask half of a log and hide nothing. */
const shortest = 4;
const replacement = '********';

function formsOf(secret: string): string[] {
  const lines = secret.split(/\r?\n/).filter((line) => line.trim().length >= shortest * 2);
  return [...writtenForms(secret), ...(lines.length > 1 ? lines : [])];
}

/** Takes the values of secrets out of a text: as they are, in base64, URLs and JSON, and each line of those with several. */
export function masker(secrets: readonly string[]): (text: string) => string {
  const long = (text: string) => text.length >= shortest;
  const forms = new Set(secrets.filter(long).flatMap(formsOf).filter(long));
  if (forms.size === 0) return (text) => text;
  const pattern = anyOf(forms);
  return (text) => text.replace(pattern, replacement);
}
