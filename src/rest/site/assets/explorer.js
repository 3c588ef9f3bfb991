/** Runs what is typed against /graphql of this server, with the token typed beside it. */
import { showSchema } from './explorer-schema.js';

const element = (id) => document.getElementById(id);
const [query, variables, result, status, token] = ['query', 'variables', 'result', 'status', 'token'].map(element);
const kept = 'portico-token';

// Session storage ends with the tab and is not shared with others; nothing is kept beyond it.
token.value = sessionStorage.getItem(kept) ?? '';

/** @returns the answer of the server, whatever it says; `failed` when there is none or it holds errors. */
async function ask(body, signal) {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json' };
  if (token.value) headers.Authorization = `Bearer ${token.value.trim()}`;
  const response = await fetch('/graphql', { method: 'POST', headers, body: JSON.stringify(body), signal });
  const answer = await response.json();
  return { status: response.status, answer, failed: !response.ok || answer.errors !== undefined };
}

function show(text, note, failed) {
  result.textContent = text;
  status.textContent = note;
  result.closest('.result').classList.toggle('failed', failed);
}

/** Name of the operation the cursor is in, when the text holds several. */
function operationName() {
  const names = [...query.value.matchAll(/^\s*(?:query|mutation|subscription)\s+(\w+)/gm)];
  if (names.length < 2) return undefined;
  const before = names.filter((match) => match.index <= query.selectionStart);
  return (before.at(-1) ?? names[0])[1];
}

function readVariables() {
  const values = variables.value.trim() === '' ? {} : JSON.parse(variables.value);
  if (values === null || typeof values !== 'object' || Array.isArray(values)) throw new Error('not a JSON object');
  return values;
}

let running = null;

async function run() {
  let values;
  try {
    values = readVariables();
  } catch (error) {
    variables.focus();
    return show('', `Variables: ${error.message}`, true);
  }
  running?.abort();
  const mine = new AbortController();
  running = mine;
  show('', 'Running …', false);
  const began = performance.now();
  try {
    const body = { query: query.value, variables: values, operationName: operationName() };
    const { status: code, answer, failed } = await ask(body, mine.signal);
    const took = Math.round(performance.now() - began);
    show(JSON.stringify(answer, null, 2), `${code} · ${took} ms${failed ? ' · with errors' : ''}`, failed);
  } catch (error) {
    if (running === mine) show('', `No answer: ${error.message}`, true);
  }
}

let leaving = false;

/** Tab indents; Escape gives the next Tab back to the page, so that nobody is caught in the editor. */
function onKey(event) {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    return void run();
  }
  if (event.key === 'Tab' && !event.shiftKey && !leaving) {
    event.preventDefault();
    event.target.setRangeText('  ', event.target.selectionStart, event.target.selectionEnd, 'end');
  }
  leaving = event.key === 'Escape' || (leaving && event.key === 'Shift');
}

/** Puts a draft where the caller can run it; what was there stays above it. */
function insert(text, values) {
  const before = query.value.trimEnd();
  query.value = before === '' ? text : `${before}\n\n${text}`;
  query.focus();
  query.setSelectionRange(query.value.length - 1, query.value.length - 1);
  query.scrollTop = query.scrollHeight;
  let present = {};
  try {
    present = readVariables();
  } catch {
    // What is there is not JSON yet; the draft's own variables take its place.
  }
  variables.value = JSON.stringify({ ...values, ...present }, null, 2);
}

const refresh = () => {
  element('forget').hidden = token.value === '';
  return showSchema({ ask, insert, hasToken: token.value !== '' });
};

element('access').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(kept, token.value.trim());
  void refresh();
});
element('forget').addEventListener('click', () => {
  sessionStorage.removeItem(kept);
  token.value = '';
  token.focus();
  void refresh();
});
element('run').addEventListener('click', () => void run());
for (const area of [query, variables]) area.addEventListener('keydown', onKey);
void refresh();
