import { z } from 'zod';
import { anyCase } from '../../shapes.ts';
import { headerValue } from './text-fields.ts';

const maxHeaders = 50;
const maxValue = 4_096;

/** Token of RFC 9110 5.6.2. */
const token = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/.source;

/** Headers that frame the message, or that the crawler itself has to set rightly. */
const ours = 'host,content-length,connection,transfer-encoding,upgrade,te,trailer,keep-alive,accept-encoding,range';
const notOurs = `(?!(?:${anyCase(ours).replaceAll(',', '|')})$|${anyCase('proxy-')}|${anyCase('if-')})`;
const tokenName = new RegExp(`^${token}$`);
const headerName = new RegExp(`^${notOurs}${token}$`);

const value = headerValue('', maxValue);

const { $schema: _, ...describedValue } = z.toJSONSchema(value);

function faultOf(name: string, given: unknown): string | null {
  if (!tokenName.test(name)) return `${name} is not a valid header name`;
  if (!headerName.test(name)) return `${name} may not be set`;
  return value.safeParse(given).success ? null : `${name} has an invalid value`;
}

/** Headers a crawler sends with its requests, by name. */
export const requestHeaders = z
  .record(z.string(), z.string('has an invalid value'), 'must be an object')
  .superRefine((headers, context) => {
    const names = Object.keys(headers);
    const issue = (message: string) => context.addIssue({ code: 'custom', message });
    if (names.length > maxHeaders) return issue(`must be at most ${maxHeaders} headers`);
    const seen = new Set<string>();
    for (const name of names) {
      const fault = faultOf(name, headers[name]);
      if (fault !== null) issue(fault);
      else if (seen.has(name.toLowerCase())) issue(`${name} is given twice`);
      seen.add(name.toLowerCase());
    }
  })
  .meta({
    description: 'Custom headers, header name to value; a name may be given once, in letters of either case',
    maxProperties: maxHeaders,
    propertyNames: { type: 'string', pattern: headerName.source },
    additionalProperties: describedValue,
  });
