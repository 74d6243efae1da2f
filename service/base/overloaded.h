// Overloaded: builds one visitor out of lambdas, for std::visit.

#pragma once

namespace quorum {

template <typename... Callables>
struct Overloaded : Callables... {
  using Callables::operator()...;
};

template <typename... Callables>
Overloaded(Callables...) -> Overloaded<Callables...>;

}  // namespace quorum
