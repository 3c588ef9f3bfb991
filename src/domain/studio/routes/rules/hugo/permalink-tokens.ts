import { dayNames, monthNames, pad, yearDay } from '../dates.ts';

/** What the tokens of a permalink stand for. */
export interface TokenValues {
  date: Date | null;
  title: string;
  slug: string | undefined;
  /** Names of the sections the page lies in, the top one first. */
  sections: readonly string[];
  /** The file's name, of a bundle its directory's. */
  name: string;
}

/** A page without a date has Go's zero date. */
const zero = new Date(Date.UTC(2000, 0, 1));

/** `[1:]`, `[:2]`, `[last]`, `[0]` of the sections. */
function slice(sections: readonly string[], text: string | undefined): readonly string[] {
  if (text === undefined) return sections;
  const position = (part: string, otherwise: number) =>
    part === '' ? otherwise : part === 'last' ? sections.length - 1 : Number.parseInt(part, 10) || 0;
  const [from = '', to] = text.split(':');
  const start = position(from, 0);
  return to === undefined ? sections.slice(start, start + 1) : sections.slice(start, position(to, sections.length));
}

function dateToken(name: string, date: Date | null): string | undefined {
  const day = date ?? zero;
  const month = monthNames[day.getUTCMonth()] ?? '';
  const tokens: Record<string, string> = {
    year: date === null ? '0001' : pad(day.getUTCFullYear(), 4),
    month: pad(day.getUTCMonth() + 1),
    monthname: month,
    day: pad(day.getUTCDate()),
    weekday: String(day.getUTCDay()),
    weekdayname: dayNames[day.getUTCDay()] ?? '',
    yearday: String(yearDay(day)),
    2006: pad(day.getUTCFullYear(), 4),
    '06': pad(day.getUTCFullYear() % 100),
    '01': pad(day.getUTCMonth() + 1),
    1: String(day.getUTCMonth() + 1),
    '02': pad(day.getUTCDate()),
    2: String(day.getUTCDate()),
    '15': pad(day.getUTCHours()),
    '04': pad(day.getUTCMinutes()),
    '05': pad(day.getUTCSeconds()),
    Jan: month.slice(0, 3),
    January: month,
  };
  return Object.hasOwn(tokens, name) ? tokens[name] : undefined;
}

const token = /:([A-Za-z]+|\d+)(?:\[([^\]]*)\])?/g;

/** A pattern with its tokens replaced; `clean` makes a path of a value. Tokens nobody knows stay. */
export function expandTokens(pattern: string, values: TokenValues, clean: (text: string) => string): string {
  return pattern.replace(token, (whole, name: string, range: string | undefined) => {
    const dated = dateToken(name, values.date);
    if (dated !== undefined) return clean(dated);
    switch (name) {
      case 'section':
      case 'sectionslug':
        return clean(values.sections[0] ?? '');
      case 'sections':
      case 'sectionslugs':
        return slice(values.sections, range).map(clean).join('/');
      case 'title':
        return clean(values.title);
      case 'slug':
        return clean(values.slug || values.title);
      case 'contentbasename':
      case 'filename':
        return clean(values.name);
      case 'slugorcontentbasename':
      case 'slugorfilename':
        return clean(values.slug || values.name);
      default:
        return whole;
    }
  });
}
