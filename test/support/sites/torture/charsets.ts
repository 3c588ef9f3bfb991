import { page } from '../site-server.ts';
import { html, type TortureCase } from './torture-case.ts';

const found = page('Found');
const latin1 = (text: string) => Buffer.from(text, 'latin1');
const utf8 = (text: string) => Buffer.from(text, 'utf8');
const utf16 = (text: string, isBig: boolean) => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return isBig ? bytes.swap16() : bytes;
};

/** A page whose one link is a letter beyond ASCII; how it is read shows in what is requested. */
const reading = (name: string, path: string, body: Buffer, letter: string, type = 'text/html'): TortureCase => ({
  name,
  path,
  answers: { [path]: html(body, type), [`${path}/${encodeURIComponent(letter)}`]: found },
  row: { state: 'done', http_status: 200 },
  requested: [`${path}/${encodeURIComponent(letter)}`],
});

const link = (path: string, letter: string) => `<a href="${path}/${letter}">x</a>`;
const meta = (charset: string) => `<meta charset="${charset}">`;
const within = (path: string, letters: string, before = '') =>
  Buffer.concat([latin1(`${before}<a href="${path}/`), Buffer.from(letters, 'hex'), latin1('">x</a>')]);

export const charsetCases: TortureCase[] = [
  reading('the header says UTF-8', '/c1', utf8(link('/c1', 'ä')), 'ä', 'text/html; charset=utf-8'),
  reading(
    'the header against the meta element',
    '/c2',
    latin1(meta('utf-8') + link('/c2', 'ä')),
    'ä',
    'text/html; charset=iso-8859-1',
  ),
  reading('only the meta element', '/c3', utf8(meta('utf-8') + link('/c3', 'ä')), 'ä'),
  reading(
    'the meta element too late',
    '/c4',
    utf8(`<!--${'x'.repeat(1100)}-->${meta('utf-8')}${link('/c4', 'ä')}`),
    'Ã¤',
  ),
  reading(
    'a mark against the header',
    '/c5',
    Buffer.concat([Buffer.from('efbbbf', 'hex'), utf8(link('/c5', 'ä'))]),
    'ä',
    'text/html; charset=iso-8859-1',
  ),
  reading('UTF-16 LE', '/c6', utf16(link('/c6', 'ж'), false), 'ж'),
  reading('UTF-16 BE', '/c7', utf16(link('/c7', 'ж'), true), 'ж'),
  reading('GBK', '/c8', within('/c8', 'd6d0'), '中', 'text/html; charset=gbk'),
  reading('Shift_JIS', '/c9', within('/c9', '93fa', meta('shift_jis')), '日'),
  reading('EUC-KR', '/c10', within('/c10', 'c7d1'), '한', 'text/html; charset=euc-kr'),
  reading('ISO-2022-JP', '/c11', within('/c11', '1b2442467c1b2842', meta('iso-2022-jp')), '日'),
  reading('nothing said', '/c12', latin1(link('/c12', 'ä')), 'ä'),
  reading('an unknown charset', '/c13', latin1(link('/c13', 'ä')), 'ä', 'text/html; charset=klingon'),
  reading('bytes that are no UTF-8', '/c14', within('/c14', 'ff'), '\ufffd', 'text/html; charset=utf-8'),
];
