//! A long list that is cheap to clone and to modify: two levels of shared pointers.

use std::sync::Arc;

/// Pages per branch.
const PAGES_PER_BRANCH: usize = 64;

/// A list of pages that clones share until one of them writes to a page.
///
/// A clone costs one pointer per [`PAGES_PER_BRANCH`] pages. A write copies the page that it changes and the
/// branch above it, if they are shared.
#[derive(Debug)]
pub(super) struct Pages<P: ?Sized> {
    branches: Vec<Arc<[Arc<P>]>>,
    len: usize,
}

impl<P: ?Sized> Default for Pages<P> {
    fn default() -> Self {
        Pages { branches: Vec::new(), len: 0 }
    }
}

impl<P: ?Sized> Clone for Pages<P> {
    fn clone(&self) -> Self {
        Pages { branches: self.branches.clone(), len: self.len }
    }
}

impl<P: ?Sized> Pages<P> {
    /// The number of pages.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The page at `index`.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&P> {
        self.branches.get(index / PAGES_PER_BRANCH)?.get(index % PAGES_PER_BRANCH).map(|page| &**page)
    }

    /// Appends a page, which may be shared.
    pub(super) fn push(&mut self, page: Arc<P>) {
        match self.branches.last_mut() {
            Some(branch) if branch.len() < PAGES_PER_BRANCH => {
                *branch = branch.iter().cloned().chain(std::iter::once(page)).collect();
            }
            _ => self.branches.push(Arc::new([page])),
        }
        self.len += 1;
    }

    /// Replaces the page at `index`.
    pub(super) fn replace(&mut self, index: usize, page: Arc<P>) {
        if let Some(slot) = self
            .branches
            .get_mut(index / PAGES_PER_BRANCH)
            .and_then(|branch| Arc::make_mut(branch).get_mut(index % PAGES_PER_BRANCH))
        {
            *slot = page;
        }
    }

    /// All pages in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &P> {
        self.branches.iter().flat_map(|branch| branch.iter()).map(|page| &**page)
    }
}

impl<P: ?Sized> FromIterator<Arc<P>> for Pages<P> {
    fn from_iter<I: IntoIterator<Item = Arc<P>>>(pages: I) -> Self {
        let pages: Vec<Arc<P>> = pages.into_iter().collect();
        Pages { branches: pages.chunks(PAGES_PER_BRANCH).map(Arc::from).collect(), len: pages.len() }
    }
}

impl<P: Clone> Pages<P> {
    /// The page at `index`, mutable; copies it if it is shared.
    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut P> {
        let branch = Arc::make_mut(self.branches.get_mut(index / PAGES_PER_BRANCH)?);
        Some(Arc::make_mut(branch.get_mut(index % PAGES_PER_BRANCH)?))
    }
}

impl<T: Clone> Pages<[T]> {
    /// The values of the page at `index`, mutable; copies the page if it is shared.
    #[inline]
    pub(super) fn values_mut(&mut self, index: usize) -> Option<&mut [T]> {
        let branch = Arc::make_mut(self.branches.get_mut(index / PAGES_PER_BRANCH)?);
        Some(Arc::make_mut(branch.get_mut(index % PAGES_PER_BRANCH)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_its_pages_and_shares_the_others() {
        let mut pages = Pages::default();
        (0..200).for_each(|number| pages.push(Arc::new(number)));
        let copy = pages.clone();
        *pages.get_mut(70).unwrap() = -1;
        pages.push(Arc::new(200));
        assert_eq!((copy.len(), copy.get(70), copy.get(200)), (200, Some(&70), None));
        assert_eq!((pages.len(), pages.get(70), pages.get(200)), (201, Some(&-1), Some(&200)));
        assert_eq!(copy.iter().copied().collect::<Vec<_>>(), (0..200).collect::<Vec<_>>());
        let shared = (0..200).filter(|&at| std::ptr::eq(copy.get(at).unwrap(), pages.get(at).unwrap()));
        assert_eq!(shared.count(), 199);
        let again: Pages<i32> = (0..200).map(Arc::new).collect();
        assert_eq!((again.len(), again.get(130)), (200, Some(&130)));
        assert!(again.iter().eq(copy.iter()));
    }
}
