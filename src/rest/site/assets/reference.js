/** Filters the endpoints of the reference by the words in the search box. */

const search = document.querySelector('#search');
const count = document.querySelector('#found');
const endpoints = [...document.querySelectorAll('[data-words]')];
const groups = [...document.querySelectorAll('[data-group]')];

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = new Set();
  for (const endpoint of endpoints) {
    endpoint.hidden = !words.every((word) => endpoint.dataset.words.includes(word));
    if (!endpoint.hidden) shown.add(endpoint.dataset.of ?? endpoint.id);
  }
  for (const group of groups) group.hidden = !group.querySelector('[data-words]:not([hidden])');
  count.textContent = words.length > 0 ? `${shown.size} ${shown.size === 1 ? 'endpoint' : 'endpoints'}` : '';
}

search.addEventListener('input', filter);
search.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  search.value = '';
  filter();
});
addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea, [contenteditable]');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  search.focus();
});
// A link to an endpoint that is filtered away would lead nowhere.
addEventListener('hashchange', () => {
  if (!document.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"][hidden]`)) return;
  search.value = '';
  filter();
  document.getElementById(location.hash.slice(1)).scrollIntoView();
});
// On a narrow screen the list of endpoints would push the reference away: it closes when one is chosen.
const contents = document.querySelector('#contents');
if (matchMedia('(max-width: 60rem)').matches) contents.open = false;
contents.addEventListener('click', (event) => {
  if (event.target.closest('a') && matchMedia('(max-width: 60rem)').matches) contents.open = false;
});
document.querySelector('.search').hidden = false;
filter();
