// Choices at the top of the page, tables that sort and filter, and the refreshing of a watched run. Nothing here makes
// markup of text.
(() => {
  'use strict';
  const root = document.documentElement;
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

  // ---- What was chosen; it outlives a refresh.
  const chosen = {benchmark: '', system: ''};
  const filters = new Map();  // caption -> text
  const sorts = new Map();    // caption -> [column, descending]
  const opened = new Set();   // text of opened summaries

  const captionOf = (table) => table.caption ? table.caption.textContent : '';

  // ---- Theme
  const themeButton = document.getElementById('theme');
  const isDark = () => root.dataset.theme === 'dark' ||
      (root.dataset.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  const nameTheme = () => { themeButton.textContent = isDark() ? 'Light' : 'Dark'; };
  themeButton.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    nameTheme();
    try { localStorage.setItem('strata-theme', root.dataset.theme); } catch (error) { /* not kept */ }
  });
  try {
    const kept = localStorage.getItem('strata-theme');
    if (kept === 'dark' || kept === 'light') root.dataset.theme = kept;
  } catch (error) { /* none kept */ }
  nameTheme();

  // ---- Benchmark and system
  function applyChoices() {
    for (const element of all('main [data-benchmark]')) {
      element.classList.toggle('other', chosen.benchmark !== '' && element.dataset.benchmark !== chosen.benchmark);
    }
    root.classList.toggle('picking', chosen.system !== '');
    for (const element of all('main [data-system]')) {
      element.classList.toggle('picked', chosen.system !== '' && element.dataset.system === chosen.system);
    }
    all('.table').forEach(applyFilter);
    for (const element of all('main figure[data-benchmark], main details[data-benchmark], main .table[data-benchmark]')) {
      element.classList.toggle('hidden', element.classList.contains('other'));
    }
  }
  const choices = ['benchmark', 'system'];
  function listenTo(name) {
    const select = document.getElementById(name);
    if (!select) return;
    select.addEventListener('change', () => { chosen[name] = select.value; applyChoices(); });
    chosen[name] = select.value;
  }
  choices.forEach(listenTo);

  // Restores the choice on a refreshed page by its text, because systems get other numbers as runs end.
  function renewChoice(name, page) {
    const select = document.getElementById(name), fresh = page.getElementById(name);
    const words = select && select.value !== '' ? select.selectedOptions[0].textContent : '';
    chosen[name] = '';
    if (select && fresh) {
      select.replaceChildren(...Array.from(fresh.options));
      const same = Array.from(select.options).filter((option) => option.value !== '' && option.textContent === words);
      select.value = same.length === 1 ? same[0].value : '';
      chosen[name] = select.value;
    } else if (select) {
      select.closest('label').remove();
    } else if (fresh) {
      themeButton.before(document.adoptNode(fresh.closest('label')));
      listenTo(name);
    }
  }
  function renewNavigation(page) {
    const list = document.querySelector('nav ul');
    if (!list.contains(document.activeElement)) list.replaceWith(document.adoptNode(page.querySelector('nav ul')));
    for (const name of choices) renewChoice(name, page);
  }

  // ---- Tables
  function applyFilter(block) {
    const table = block.querySelector('table');
    const words = (filters.get(captionOf(table)) || '').toLowerCase().split(/\s+/).filter(Boolean);
    const rows = Array.from(table.tBodies[0].rows);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = !row.classList.contains('other') && words.every((word) => text.includes(word));
      row.classList.toggle('hidden', !fits);
      if (fits) ++shown;
    }
    const count = block.querySelector('.count');
    if (count) count.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
  }

  function applySort(table) {
    const sort = sorts.get(captionOf(table));
    if (!sort) return;
    const [column, descending] = sort;
    const keyed = Array.from(table.tBodies[0].rows, (row) => {
      const cell = row.cells[column];
      const text = cell.textContent;
      const number = cell.dataset.value ?? (text.trim() === '' ? 'none' : text);
      return {row, number: Number(number), text};
    });
    const order = descending ? -1 : 1;
    keyed.sort((a, b) => {
      const left = Number.isNaN(a.number), right = Number.isNaN(b.number);
      if (!left && !right) return order * (a.number - b.number);
      if (left !== right) return left ? 1 : -1;  // without a number: last
      return order * a.text.localeCompare(b.text, undefined, {numeric: true});
    });
    table.tBodies[0].append(...keyed.map((each) => each.row));
    Array.from(table.tHead.rows[0].cells).forEach((head, i) => {
      if (i === column) head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
  }

  function prepare(main) {
    for (const block of all('.table', main)) {
      const table = block.querySelector('table');
      const caption = captionOf(table);
      const input = block.querySelector('input');
      if (input) {
        input.value = filters.get(caption) || '';
        input.addEventListener('input', () => { filters.set(caption, input.value); applyFilter(block); });
      }
      Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
        head.querySelector('button').addEventListener('click', () => {
          const [before, descending] = sorts.get(caption) || [-1, true];
          sorts.set(caption, [column, before === column ? !descending : false]);
          applySort(table);
        });
      });
      applySort(table);
    }
    for (const details of all('details', main)) {
      const name = details.querySelector('summary').textContent;
      if (opened.has(name)) details.open = true;
      details.addEventListener('toggle', () => { if (details.open) opened.add(name); else opened.delete(name); });
    }
    applyChoices();
  }
  prepare(document.querySelector('main'));

  let unfolded = [];
  addEventListener('beforeprint', () => {
    // Settings of many benchmarks take many pages; they are printed as the reader left them.
    const ofBenchmarks = all('details[data-benchmark]').length;
    unfolded = all('details:not([open])').filter((details) => ofBenchmarks < 2 || !details.dataset.benchmark);
    for (const details of unfolded) details.open = true;
  });
  addEventListener('afterprint', () => { for (const details of unfolded) details.open = false; });

  // ---- A watched run
  const seconds = Number(document.body.dataset.refresh || 0);
  if (!(seconds > 0)) return;
  const state = document.getElementById('state');
  let tag = document.body.dataset.tag || '';
  async function refresh() {
    try {
      const response = await fetch('/', {headers: tag ? {'If-None-Match': tag} : {}, cache: 'no-store'});
      if (response.status === 200) {
        tag = response.headers.get('ETag') || '';
        const page = new DOMParser().parseFromString(await response.text(), 'text/html');
        const fresh = page.querySelector('main');
        const busy = document.querySelector('main').contains(document.activeElement) &&
            document.activeElement.matches('input');
        if (fresh && !busy) {
          const x = scrollX, y = scrollY;
          renewNavigation(page);
          document.querySelector('main').replaceWith(document.adoptNode(fresh));
          prepare(document.querySelector('main'));
          scrollTo(x, y);
        } else if (busy) {
          tag = '';
        }
      } else if (response.status !== 304) {
        throw new Error(`the server says ${response.status}`);
      }
      state.textContent = `as of ${new Date().toLocaleTimeString()}`;
    } catch (error) {
      state.textContent = `not refreshed since: ${error.message}`;
    }
    setTimeout(refresh, 1000 * seconds);
  }
  setTimeout(refresh, 1000 * seconds);
})();
